// Measures a training step of Algorithm Distillation on one thread: forward, loss, backward, AdamW.
//
//   ad_step_bench step|transition LAYERS TOKENS ROWS DROPOUT [STEPS [PASS_ROWS [no|fp16|bf16]]]
//
// Prints one JSON line with samples per second of CPU time, and as "check" the loss after two steps
// without dropout. Its peer, ad_step_torch.py, uses the same weights and the same batch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/train/adamw.hpp>

namespace {

using namespace mgpu;

constexpr int kCheckSteps = 3;

struct Work {
  ad::AdTransformerConfig config;
  std::int64_t rows;
  int steps;
  std::int64_t pass_rows;  // rows of the batch per forward pass
};

Work parse(const std::vector<std::string>& words) {
  Work work{};
  const bool is_step = words.at(0) == "step";
  work.config.tokens = is_step ? ad::TokenKind::step : ad::TokenKind::transition;
  work.config.n_layer = std::stoll(words.at(1));
  work.config.n_transit = std::stoll(words.at(2));
  work.config.dropout = std::stod(words.at(4));
  work.rows = std::stoll(words.at(3));
  work.steps = words.size() > 5 ? std::stoi(words[5]) : 6;
  work.pass_rows = words.size() > 6 ? std::stoll(words[6]) : work.rows;
  const std::string compute = words.size() > 7 ? words[7] : "no";
  if (compute == "fp16") work.config.compute = tensor::ComputeKind::f16;
  if (compute == "bf16") work.config.compute = tensor::ComputeKind::bf16;
  return work;
}

/// Sets each weight to a value in +-0.25 that depends on its index among all weights. The scale of
/// a norm gets 1 plus such a value.
void set_weights(tensor::ParameterArena& arena) {
  const at::NoGradGuard no_grad;
  std::int64_t first = 0;
  for (std::size_t k = 0; k < arena.size(); ++k) {
    const tensor::ParameterSpec& spec = arena.spec(k);
    const std::int64_t count = arena.span(k).count;
    const at::Tensor i = at::arange(first, first + count, at::kLong);
    const at::Tensor value = ((i * 7919).remainder(2001) - 1000).to(at::kDouble) / 4000.0;
    arena.parameter(k).copy_((value + spec.init_value).view(spec.shape));
    first += count;
  }
}

/// Returns integers below `size` that depend on their index and on `salt`.
at::Tensor numbers(std::int64_t size, std::int64_t salt, const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape)
    count *= n;
  const at::Tensor i = at::arange(count, at::kLong);
  return (i * 31 + salt * 17 + i.floor_divide(7)).remainder(size).view(shape);
}

class Bench {
public:
  explicit Bench(const Work& work)
      : work_(work), model_(work.config, Device{}, 1), optimizer_(model_.parameters(), {}) {
    set_weights(model_.parameters());
    const std::int64_t tokens = work.config.n_transit;
    if (is_step()) {
      for (const std::int64_t size : {9, 9, 6, 3, 10, 10})
        inputs_.push_back(numbers(size, std::ssize(inputs_), {work.rows, tokens}));
      targets_ = numbers(5, 9, {work.rows, tokens});
    } else {
      inputs_ = {numbers(9, 0, {work.rows, tokens - 1, 10}).to(at::kFloat),
                 numbers(81, 1, {work.rows})};
      targets_ = numbers(5, 9, {work.rows});
    }
  }

  /// Makes a training step, and returns the mean loss before the update.
  double step(bool drops) {
    model_.parameters().zero_gradients();
    double loss = 0.0;
    for (std::int64_t row = 0; row < work_.rows; row += work_.pass_rows)
      loss += add_gradients(row, std::min(work_.pass_rows, work_.rows - row), drops);
    optimizer_.step(3e-4, 1.0 / scale());
    first_sample_ += work_.rows;
    return loss / static_cast<double>(targets_.numel());
  }

private:
  bool is_step() const { return work_.config.tokens == ad::TokenKind::step; }

  /// Returns the factor of the loss, which keeps small gradients from becoming 0 in 16 bits.
  double scale() const { return work_.config.compute == tensor::ComputeKind::f16 ? 65536.0 : 1.0; }

  at::Tensor forward(std::int64_t row, std::int64_t rows, const ad::DropoutSamples* dropout) const {
    const auto part = [&](std::size_t k) { return inputs_[k].narrow(0, row, rows); };
    if (is_step())
      return model_.forward(ad::StepTokens{part(0), part(1), part(2), part(3), part(4), part(5)},
                            dropout);
    const std::vector<std::int64_t> lengths(static_cast<std::size_t>(rows), part(0).size(1));
    return model_.forward(ad::TransitionTokens{part(0), part(1), lengths}, dropout);
  }

  /// Adds the gradients of `rows` samples from `row` on. Returns the sum of their losses.
  double add_gradients(std::int64_t row, std::int64_t rows, bool drops) {
    const std::int64_t first = first_sample_ + row;
    const ad::DropoutSamples dropout{1, at::arange(first, first + rows, at::kLong)};
    const at::Tensor logits = forward(row, rows, drops ? &dropout : nullptr);
    const ad::ActionLoss loss = ad::action_loss(logits, targets_.narrow(0, row, rows),
                                                scale() / static_cast<double>(targets_.numel()));
    logits.backward(loss.grad);
    return loss.sums().loss;
  }

  Work work_;
  ad::AdTransformer model_;
  train::Adamw optimizer_;
  std::vector<at::Tensor> inputs_;  // fields of StepTokens or TransitionTokens in order
  at::Tensor targets_;              // [rows, tokens] or [rows]
  std::int64_t first_sample_ = 0;   // index of this step's first sample in the whole training
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const Work& work) {
  at::set_num_threads(1);
  Bench bench(work);
  double check = 0.0;
  for (int step = 0; step < kCheckSteps; ++step)
    check = bench.step(false);
  bench.step(true);
  const double start = cpu_seconds();
  for (int step = 0; step < work.steps; ++step)
    bench.step(true);
  const double rate = static_cast<double>(work.rows) * work.steps / (cpu_seconds() - start);
  std::printf(
      "{\"name\": \"ad_step\", \"value\": %.2f, \"unit\": \"samples/cpu-s\", "
      "\"check\": %.6f}\n",
      rate, check);
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
