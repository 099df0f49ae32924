// One training step of Algorithm Distillation: forward, loss, backward, AdamW, on one thread.
//
//   ad_step_bench step|transition TOKENS DROPOUT [STEPS]
//
// Prints one JSON line; samples per second of CPU time. Its peer is ad_step_torch.py.
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

constexpr std::int64_t kBatch = 64;
constexpr int kWarmUp = 2;

struct Work {
  model::TokenKind kind;
  std::int64_t tokens;
  double dropout;
  int steps;
};

model::AdTransformerConfig config_of(const Work& work) {
  model::AdTransformerConfig config;
  config.tokens = work.kind;
  config.n_transit = work.tokens;
  config.dropout = work.dropout;
  return config;
}

at::Tensor forward(const model::AdTransformer& model, std::int64_t tokens,
                   const model::DropoutSamples* dropout) {
  const auto random = [tokens](std::int64_t size) {
    return at::randint(size, {kBatch, tokens}, at::kLong);
  };
  if (model.config().tokens == model::TokenKind::step)
    return model.forward(
        model::StepTokens{random(9), random(9), random(6), random(3), random(10), random(10)},
        dropout);
  const std::vector<std::int64_t> lengths(kBatch, tokens - 1);
  return model.forward(model::TransitionTokens{at::rand({kBatch, tokens - 1, 10}),
                                               at::randint(81, {kBatch}, at::kLong), lengths},
                       dropout);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const Work& work) {
  at::set_num_threads(1);
  model::AdTransformer model(config_of(work), Device{}, 1);
  train::Adamw optimizer(model.parameters(), {});
  double loss = 0.0;
  double start = 0.0;
  for (int step = -kWarmUp; step < work.steps; ++step) {
    if (step == 0) start = cpu_seconds();
    const model::DropoutSamples dropout{1, at::arange(kBatch, at::kLong) + step * kBatch};
    const at::Tensor logits = forward(model, work.tokens, &dropout);
    std::vector<std::int64_t> shape = logits.sizes().vec();
    shape.pop_back();
    const at::Tensor targets = at::randint(5, shape, at::kLong);
    const auto count = static_cast<double>(targets.numel());
    const model::ActionLoss result = model::action_loss(logits, targets, 1.0 / count);
    model.parameters().zero_gradients();
    logits.backward(result.grad);
    optimizer.step(3e-4);
    loss = result.sums().loss / count;
  }
  const double seconds = cpu_seconds() - start;
  const double rate = static_cast<double>(kBatch * work.steps) / seconds;
  std::printf(
      "{\"name\": \"ad_step/%s/%lld/p%g\", \"value\": %.2f, \"unit\": \"samples/cpu-s\", "
      "\"loss\": %.4f}\n",
      work.kind == model::TokenKind::step ? "step" : "transition",
      static_cast<long long>(work.tokens), work.dropout, rate, loss);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: ad_step_bench step|transition TOKENS DROPOUT [STEPS]\n");
    return 64;
  }
  try {
    const auto kind =
        std::string(argv[1]) == "step" ? model::TokenKind::step : model::TokenKind::transition;
    run({kind, std::atoll(argv[2]), std::atof(argv[3]), argc > 4 ? std::atoi(argv[4]) : 6});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 70;
  }
}
