// Measures one training step of a language model on one thread: forward, loss, backward, AdamW.
//
//   lm_step_bench FOLDER ROWS TOKENS [STEPS [no|fp16|bf16]]
//
// Prints one JSON line with tokens per second of CPU time, and as "check" the loss after two steps.
// Its peer, lm_step_peer.py, makes the folder and uses the same batch.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <ATen/Parallel.h>

#include <mgpu/base/process_memory.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/train/adamw.hpp>

namespace {

using namespace mgpu;

constexpr int kCheckSteps = 3;

class Bench {
public:
  Bench(const fs::path& folder, std::int64_t rows, std::int64_t tokens, tensor::ComputeKind compute)
      : model_(lm::read_lm_config(folder), Device{}, 0, {.compute = compute}),
        optimizer_(model_.parameters(), {.beta2 = 0.999, .weight_decay = 0.0}) {
    model_.load(formats::WeightFiles(folder));
    const std::int64_t vocab = model_.config().vocab;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i <= tokens; ++i)
        ids_.push_back((row * 7919 + i * 104729 + i * i * 31) % vocab);
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::span ids = std::span(ids_).subspan(static_cast<std::size_t>(row * (tokens + 1)),
                                                    static_cast<std::size_t>(tokens + 1));
      batch_.spans.push_back({ids.first(static_cast<std::size_t>(tokens))});
      batch_.targets.insert(batch_.targets.end(), ids.begin() + 1, ids.end());
    }
  }

  /// Makes a training step, and returns the mean loss before the update.
  double step() {
    model_.parameters().zero_gradients();
    const auto count = static_cast<double>(batch_.targets.size());
    const lm::LmSums sums = model_.add_gradients(batch_, 1.0 / count);
    optimizer_.step(3e-4);
    return sums.loss / count;
  }

private:
  lm::TrainableModel model_;
  train::Adamw optimizer_;
  std::vector<std::int64_t> ids_;  // [rows, tokens + 1]
  lm::LmBatch batch_;
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void run(const std::vector<std::string>& words) {
  at::set_num_threads(1);
  keep_heap(host_free_bytes());  // as in job train
  const std::int64_t rows = std::stoll(words.at(1));
  const std::int64_t tokens = std::stoll(words.at(2));
  const int steps = words.size() > 3 ? std::stoi(words[3]) : 4;
  const std::string type = words.size() > 4 ? words[4] : "no";
  const tensor::ComputeKind compute = type == "bf16"   ? tensor::ComputeKind::bf16
                                      : type == "fp16" ? tensor::ComputeKind::f16
                                                       : tensor::ComputeKind::f32;
  Bench bench(words.at(0), rows, tokens, compute);
  double check = 0.0;
  for (int step = 0; step < kCheckSteps; ++step)
    check = bench.step();
  const double begin_s = cpu_seconds();
  for (int step = 0; step < steps; ++step)
    bench.step();
  const double rate = static_cast<double>(rows * tokens * steps) / (cpu_seconds() - begin_s);
  std::printf(
      "{\"name\": \"mgpu_spmd\", \"value\": %.6g, \"unit\": \"tokens/s\", \"check\": %.8g}\n", rate,
      check);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lm_step_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
