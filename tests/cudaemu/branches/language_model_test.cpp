// Tests the GPU branches of language models: numbers, reproducible sums, launches and host reads.
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/lm/training/head_blocks.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

#include "gpu_work.hpp"
#include "lm/decode/guide_offsets.hpp"
#include "lm/decode/offset_divergence.hpp"
#include "lm/forward/row_ops.hpp"
#include "lm/headed_model.hpp"
#include "lm/training/grad_head.hpp"
#include "lm/training/grad_ops.hpp"

namespace mgpu::lm {
namespace {

using emulated::GpuWork;

/// Returns a tensor [rows, columns] of numbers between -1 and 1.
at::Tensor waves(std::int64_t rows, std::int64_t columns, double phase) {
  return at::sin(at::arange(rows * columns, at::kFloat).mul_(0.37).add_(phase))
      .view({rows, columns});
}

at::Tensor exact_product(const at::Tensor& x, const at::Tensor& w) {
  const auto rounded = [](const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kDouble); };
  return rounded(x).mm(rounded(w).t());
}

double error_of(const at::Tensor& actual, const at::Tensor& exact) {
  return (actual.to(at::kDouble) - exact).abs().max().item<double>();
}

TEST(GpuBranchTest, ProductsInBfloat16HaveFloat32Results) {
  const at::Tensor x = waves(5, 300, 0.0);
  const at::Tensor w = waves(7, 300, 1.0);
  const at::Tensor exact = exact_product(x, w);
  const at::Tensor bias = waves(1, 7, 2.0)[0];
  constexpr double kMaxError = 1e-3;  // a product that rounds its sums to bfloat16 is off by 0.02

  EXPECT_LT(error_of(project(x, {w.to(at::kBFloat16), bias, {}}), exact + bias), kMaxError);
  EXPECT_LT(error_of(grad::product(x, w, tensor::ComputeKind::bf16), exact), kMaxError);
  const at::Tensor sum = at::full({5, 7}, 3.0F);
  grad::add_product(sum, x, w, tensor::ComputeKind::bf16);
  EXPECT_LT(error_of(sum, exact + 3.0), kMaxError);
}

TEST(GpuBranchTest, GuideOffsetsAreComputedWithoutAHostRead) {
  const at::Tensor outputs = 5.0 * waves(40, 11, 0.0);
  for (const GuideKind kind : {GuideKind::qsharp, GuideKind::cd}) {
    const GuideSettings settings{.kind = kind, .eta = 0.3};
    const ValueHead head{.kind = ValueKind::histogram, .outputs = 11, .highest = 2.0};
    const GpuWork work;
    const at::Tensor offsets = guide_offsets(settings, head, outputs);

    EXPECT_EQ(work.reads(), 0);
    EXPECT_GT(work.launches(), 0);
    EXPECT_LT(error_of(offsets, guide_offsets_by_rows(settings, head, outputs)), 1e-5);
  }
}

TEST(GpuBranchTest, TheKlOfAGuidedDrawIsComputedWithoutAHostRead) {
  OffsetSums sums(waves(3, 2, 2.0).to(at::kDouble), at::kFloat);
  sums.candidates = waves(3, 2, 0.0);
  sums.rest.fold({waves(3, 5, 1.0), 0, 0}, {});
  const GpuWork work;
  const at::Tensor divergences = divergence_of(sums);

  EXPECT_EQ(work.reads(), 0);
  EXPECT_GT(work.launches(), 0);
  EXPECT_GT(divergences.min().item<double>(), 1e-3);
  EXPECT_LT(error_of(divergences, divergence_by_rows(sums)), 1e-12);
}

TEST(GpuBranchTest, DrawsAmongTheBestTokensReadNothing) {
  const LanguageModel model = identity_model(40);
  const at::Tensor hidden = 4.0 * waves(30, 40, 0.0);
  std::vector<DrawSite> sites(30);
  for (std::size_t n = 0; n < sites.size(); ++n)
    sites[n].sample = n;
  const Sampler sampler(
      {.is_greedy = false, .temperature = 1.5, .top_k = 8, .top_p = 0.8, .seed = 1});
  const at::Tensor uniforms = sampler.uniforms(model, sites, 1, hidden.device())[0];
  const GpuWork work;
  const DrawnRows drawn = sampler.draw_rows(model, hidden, sites, {}, uniforms);

  EXPECT_EQ(work.reads(), 0);
  EXPECT_GT(work.own_kernels(), 0);
  const at::Tensor ranks = (hidden > hidden.gather(1, drawn.ids.unsqueeze(1))).sum(1);
  EXPECT_LT(ranks.max().item<std::int64_t>(), 8);
  EXPECT_GT(ranks.max().item<std::int64_t>(), 1);
  const at::Tensor log_probs = at::log_softmax(hidden, 1).gather(1, drawn.ids.unsqueeze(1));
  EXPECT_LT(error_of(drawn.log_probs, log_probs.squeeze(1)), 1e-5);
}

TEST(GpuBranchTest, GradientsOfAnEmbeddingAreAddedInAFixedOrder) {
  const at::Tensor table = waves(6, 4, 0.0).requires_grad_(true);
  table.mutable_grad() = at::zeros_like(table);
  const at::Tensor ids = at::tensor({1, 3, 1, 1, 5}, at::kLong);
  const at::Tensor factors = waves(5, 4, 1.0);
  const at::Tensor expected = at::zeros({6, 4}).index_add_(0, ids, factors);

  for (const bool is_position : {false, true}) {
    table.mutable_grad().zero_();
    const GpuWork work;
    const at::Tensor rows =
        is_position ? grad::embed_positions(table, ids) : grad::embed(table, ids);
    (rows * factors).sum().backward();

    EXPECT_EQ(work.calls_of("aten::index_add_") + work.calls_of("aten::index_add"), 0);
    EXPECT_LT((table.grad() - expected).abs().max().item<float>(), 1e-6F);
  }
}

/// Runs the head's loss and gradients over `rows` tokens.
void run_head(std::int64_t rows, std::int64_t vocab, tensor::ComputeKind compute) {
  const at::Tensor hidden = waves(rows, 4, 0.0);
  const at::Tensor weight = waves(vocab, 4, 1.0);
  const at::Tensor targets = at::arange(rows, at::kLong) * 97;
  grad::HeadGradients gradients;
  grad::head_loss({hidden, weight, targets, compute}, grad::cross_entropy, 1.0, &gradients);
}

TEST(GpuBranchTest, TheHeadOfALargeVocabularyNeedsFewLaunches) {
  constexpr std::int64_t kVocab = 128256;
  constexpr std::int64_t kRows = 16384;
  const std::int64_t at_once = head_blocks(DeviceKind::cuda, kVocab).rows;
  EXPECT_GT(at_once, 2000);
  const std::int64_t blocks = (kRows + at_once - 1) / at_once;
  for (const auto compute : {tensor::ComputeKind::f32, tensor::ComputeKind::bf16}) {
    const GpuWork work;
    run_head(2, kVocab, compute);  // a block has as many launches with 2 rows as with 2,093
    const std::int64_t launches = work.launches() * blocks;

    std::printf("head of %ld rows x %ld: at most %ld launches\n", kRows, kVocab, launches);
    EXPECT_LE(launches, 2000);
    EXPECT_LE(work.reads(), 2);
  }
}

TEST(GpuBranchTest, ReadsOfTheHeadDoNotGrowWithItsBlocks) {
  const std::int64_t at_once = head_blocks(DeviceKind::cuda, 5).rows;
  const GpuWork work;
  run_head(2 * at_once + 1, 5, tensor::ComputeKind::f32);  // three blocks

  EXPECT_EQ(work.reads(), 2);
  EXPECT_EQ(work.calls_of("aten::nonzero"), 0);
}

}  // namespace
}  // namespace mgpu::lm
