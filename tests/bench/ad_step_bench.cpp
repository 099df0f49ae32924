// One training step of Algorithm Distillation: forward, loss, backward, AdamW, on one thread.
//
//   ad_step_bench step|transition LAYERS TOKENS ROWS DROPOUT [STEPS [PASS_ROWS [no|fp16|bf16]]]
//
// Prints one JSON line; samples per second of CPU time. Its peer is ad_step_torch.py.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <mgpu/model/action_loss.hpp>
#include <mgpu/model/ad_transformer.hpp>
#include <mgpu/train/adamw.hpp>

namespace {

using namespace mgpu;

constexpr int kWarmUp = 3;

struct Work {
  model::AdTransformerConfig config;
  std::int64_t rows;
  int steps;
  std::int64_t pass_rows;  // of the batch that go through the model at once
};

Work parse(const std::vector<std::string>& words) {
  Work work{};
  const bool is_step = words.at(0) == "step";
  work.config.tokens = is_step ? model::TokenKind::step : model::TokenKind::transition;
  work.config.n_layer = std::stoll(words.at(1));
  work.config.n_transit = std::stoll(words.at(2));
  work.config.dropout = std::stod(words.at(4));
  work.rows = std::stoll(words.at(3));
  work.steps = words.size() > 5 ? std::stoi(words[5]) : 6;
  work.pass_rows = words.size() > 6 ? std::stoll(words[6]) : work.rows;
  const std::string compute = words.size() > 7 ? words[7] : "no";
  if (compute == "fp16") work.config.compute = model::ComputeKind::f16;
  if (compute == "bf16") work.config.compute = model::ComputeKind::bf16;
  return work;
}

at::Tensor forward(const model::AdTransformer& model, std::int64_t rows,
                   const model::DropoutSamples& dropout) {
  const std::int64_t tokens = model.config().n_transit;
  const auto random = [=](std::int64_t size) {
    return at::randint(size, {rows, tokens}, at::kLong);
  };
  if (model.config().tokens == model::TokenKind::step)
    return model.forward(
        model::StepTokens{random(9), random(9), random(6), random(3), random(10), random(10)},
        &dropout);
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(rows), tokens - 1);
  return model.forward(model::TransitionTokens{at::rand({rows, tokens - 1, 10}),
                                               at::randint(81, {rows}, at::kLong), lengths},
                       &dropout);
}

/// Adds the gradients of `rows` samples from `first` on; returns their sums.
kernels::CrossEntropySums add_gradients(const model::AdTransformer& model, std::int64_t first,
                                        std::int64_t rows, std::int64_t batch) {
  const model::DropoutSamples dropout{1, at::arange(first, first + rows, at::kLong)};
  const at::Tensor logits = forward(model, rows, dropout);
  std::vector<std::int64_t> shape = logits.sizes().vec();
  shape.pop_back();
  const at::Tensor targets = at::randint(5, shape, at::kLong);
  const auto predictions = static_cast<double>(targets.numel() / rows * batch);
  const model::ActionLoss result = model::action_loss(logits, targets, 1.0 / predictions);
  logits.backward(result.grad);
  return result.sums();
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const Work& work) {
  at::set_num_threads(1);
  model::AdTransformer model(work.config, Device{}, 1);
  train::Adamw optimizer(model.parameters(), {});
  kernels::CrossEntropySums sums;
  double start = 0.0;
  for (int step = -kWarmUp; step < work.steps; ++step) {
    if (step == 0) start = cpu_seconds();
    model.parameters().zero_gradients();
    sums = {};
    for (std::int64_t row = 0; row < work.rows; row += work.pass_rows) {
      const auto done = add_gradients(model, (step + kWarmUp) * work.rows + row,
                                      std::min(work.pass_rows, work.rows - row), work.rows);
      sums.loss += done.loss;
      sums.count += done.count;
    }
    optimizer.step(3e-4);
  }
  const double rate = static_cast<double>(work.rows) * work.steps / (cpu_seconds() - start);
  std::printf(
      "{\"name\": \"ad_step\", \"value\": %.2f, \"unit\": \"samples/cpu-s\", "
      "\"loss\": %.4f}\n",
      rate, sums.loss / static_cast<double>(sums.count));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: ad_step_bench step|transition LAYERS TOKENS ROWS DROPOUT "
                 "[STEPS [PASS_ROWS [no|fp16|bf16]]]\n");
    return 64;
  }
  try {
    run(parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 70;
  }
}
