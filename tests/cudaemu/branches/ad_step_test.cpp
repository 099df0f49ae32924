// Tests the GPU branches of an optimizer step of Algorithm Distillation: launches and host reads.
#include <cmath>
#include <cstdio>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/batch_plan.hpp>

#include "gpu_work.hpp"

namespace mgpu::ad {
namespace {

using emulated::GpuWork;

constexpr std::int64_t kWindow = 16;

/// Returns a model with the width and number of layers of conf/train_ad.yaml, but a shorter window.
AdTransformerConfig large_config(tensor::ComputeKind compute) {
  AdTransformerConfig config;
  config.tokens = TokenKind::step;
  config.attention = AttentionKind::flash;
  config.n_embd = 64;
  config.n_layer = 4;
  config.n_head = 4;
  config.n_inner = 128;
  config.n_transit = kWindow;
  config.dropout = 0.1;
  config.compute = compute;
  return config;
}

StepTokens tokens_of(std::int64_t rows) {
  const at::Tensor one = at::ones({rows, kWindow}, at::kLong);
  return {one, one, one, one, one, one};
}

/// Runs forward, backward and update for `rows` sequences in one pass.
void run_step(AdTransformer& model, train::Adamw& optimizer, std::int64_t rows) {
  model.parameters().zero_gradients();
  const DropoutSamples dropout{1, at::arange(rows, at::kLong)};
  const at::Tensor logits = model.forward(tokens_of(rows), &dropout);
  const ActionLoss loss = action_loss(logits, at::zeros({rows, kWindow}, at::kLong), 1e-3, 0.0);
  logits.backward(loss.grad);
  EXPECT_TRUE(std::isfinite(loss.sums().loss));
  EXPECT_TRUE(optimizer.step(1e-3).is_applied);
}

TEST(GpuBranchTest, AnAdStepOnOneRankIsOnePassOfFewLaunches) {
  const train::BatchShape shape{512, 0, 16, 1, false, true};
  const auto passes = train::plan_micro_batches(shape, 0, 1, DeviceKind::cuda);
  ASSERT_EQ(passes.size(), 1U);
  for (const auto compute :
       {tensor::ComputeKind::f32, tensor::ComputeKind::bf16, tensor::ComputeKind::f16}) {
    AdTransformer model(large_config(compute), Device{}, 1);
    train::Adamw optimizer(model.parameters(), {});
    const GpuWork work;
    run_step(model, optimizer, 2);  // as many launches as with 512 sequences

    std::printf("AD step: %ld launches, %ld of own kernels, and %ld reads\n", work.launches(),
                work.own_kernels(), work.reads());
    EXPECT_LE(work.launches(), 500);
    EXPECT_LE(work.reads(), 8);
  }
}

/// Returns 2 * `pairs` parameters. Weight decay applies to every second one, beginning with the
/// first.
std::vector<tensor::ParameterSpec> alternating(std::int64_t pairs) {
  std::vector<tensor::ParameterSpec> specs;
  for (std::int64_t i = 0; i < 2 * pairs; ++i)
    specs.push_back({"p" + std::to_string(i), {20}, 1.0, 0.0, i % 2 == 0});
  return specs;
}

TEST(GpuBranchTest, OneLaunchUpdatesUpTo128RunsOfParameters) {
  for (const std::int64_t pairs : {1, 64, 65}) {
    tensor::ParameterArena arena(alternating(pairs), Device{}, 1);
    const at::Tensor before = arena.weights().clone();
    arena.gradients().fill_(0.0);
    train::Adamw optimizer(arena, {.weight_decay = 0.5});
    const GpuWork work;
    optimizer.step(0.1);

    EXPECT_EQ(work.own_kernels(), pairs > 64 ? 4 : 3);  // two of them compute the norm
    for (std::size_t p = 0; p < arena.size(); ++p) {
      const auto& span = arena.span(p);
      const at::Tensor was = before.narrow(0, span.begin, span.count);
      const double kept = p % 2 == 0 ? 1.0 - 0.1 * 0.5 : 1.0;
      EXPECT_LT((arena.parameter(p).detach() - was * kept).abs().max().item<float>(), 1e-6F) << p;
    }
  }
}

}  // namespace
}  // namespace mgpu::ad
