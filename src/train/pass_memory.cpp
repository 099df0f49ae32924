#include "pass_memory.hpp"

#include <cstdio>
#include <string>

#include <ATen/core/Tensor.h>

#include <mgpu/base/process_memory.hpp>

namespace mgpu::train {
namespace {

std::string gib_text(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

}  // namespace

ErrorReport pass_out_of_memory(const ErrorReport& cause, int rank, std::int64_t largest,
                               const tensor::ParameterArena& parameters, const Adamw& optimizer) {
  ErrorReport report = cause;
  const std::string items = std::to_string(largest) + (largest == 1 ? " item" : " items");
  report.sentence += " on rank " + std::to_string(rank) + " in a training pass of at most " + items;
  const std::uint64_t weights = parameters.weights().nbytes();
  const std::uint64_t gradients = parameters.gradients().nbytes();
  const std::uint64_t moments =
      optimizer.first_moment().nbytes() + optimizer.second_moment().nbytes();
  report.lines.push_back("  weights " + gib_text(weights) + " + gradients " + gib_text(gradients) +
                         " + optimizer " + gib_text(moments) + " = " +
                         gib_text(weights + gradients + moments) + " stay in memory");
  if (!parameters.weights().is_cuda())
    report.lines.push_back("  the machine has " + gib_text(host_free_bytes()) +
                           " free; all its ranks share this");
  report.help = largest > 1 ? "train.micro_batch_size=" + std::to_string(largest / 2) +
                                  ", which runs more and smaller passes"
                            : "fewer ranks per machine, or a smaller model; --plan shows the sizes";
  return report;
}

}  // namespace mgpu::train
