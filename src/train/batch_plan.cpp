#include <algorithm>
#include <bit>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::train {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Formats the divisors of `lanes` as "1, 2, 4".
std::string divisors(std::int64_t lanes) {
  std::string text;
  for (std::int64_t n = 1; n <= lanes; ++n) {
    if (lanes % n == 0) text += (text.empty() ? "" : ", ") + std::to_string(n);
  }
  return text;
}

std::optional<BatchProblem> layout_problem(const BatchShape& shape, int ranks) {
  const std::string lanes = std::to_string(shape.lanes);
  if (!std::has_single_bit(static_cast<std::uint64_t>(shape.lanes))) {
    return {
        {"E122", "train.lanes",
         "`train.lanes` is " + lanes +
             ", but `run.deterministic: layout` sums lanes in a binary tree and needs a power "
             "of two",
         "train.lanes=" + std::to_string(std::bit_ceil(static_cast<std::uint64_t>(shape.lanes)))}};
  }
  if (shape.global_batch % shape.lanes != 0) {
    return {{"E122", "train.global_batch_size",
             "`train.global_batch_size` " + std::to_string(shape.global_batch) +
                 " cannot be cut into " + lanes + " equal lanes",
             "train.global_batch_size=" +
                 std::to_string(ceil_div(shape.global_batch, shape.lanes) * shape.lanes)}};
  }
  if (shape.lanes % ranks != 0) {
    return {{"E122", "train.lanes",
             std::to_string(ranks) + " ranks cannot share " + lanes +
                 " lanes evenly (`run.deterministic: layout`)",
             "start " + divisors(shape.lanes) + " ranks, or run.deterministic=false"}};
  }
  return std::nullopt;
}

void add_passes(std::int64_t first, std::int64_t end, std::int64_t size,
                std::vector<MicroBatch>& passes) {
  for (std::int64_t offset = first; offset < end; offset += size)
    passes.push_back({offset, std::min(size, end - offset), offset + size >= end});
}

}  // namespace

std::optional<BatchProblem> problem_of(const BatchShape& shape, int ranks) {
  if (shape.layout) return layout_problem(shape, ranks);
  if (shape.global_batch >= ranks) return std::nullopt;
  return {{"E123", "train.global_batch_size",
           std::to_string(ranks) + " ranks for `train.global_batch_size` " +
               std::to_string(shape.global_batch) + ": some would have nothing to do",
           "train.global_batch_size=" + std::to_string(ranks)}};
}

std::vector<MicroBatch> plan_micro_batches(const BatchShape& shape, int rank, int ranks,
                                           DeviceKind device) {
  if (const auto problem = problem_of(shape, ranks)) {
    throw Failure({problem->code, ExitCode::config, problem->sentence, {}, problem->help});
  }
  const std::int64_t lane = ceil_div(shape.global_batch, shape.lanes);
  const std::int64_t micro = shape.micro_batch == 0 ? lane : std::min(shape.micro_batch, lane);
  std::vector<MicroBatch> passes;
  if (shape.layout) {
    const std::int64_t own = shape.lanes / ranks;
    for (std::int64_t l = rank * own; l < (rank + 1) * own; ++l)
      add_passes(l * lane, (l + 1) * lane, micro, passes);
    return passes;
  }
  const std::int64_t share = shape.global_batch / ranks;
  const std::int64_t extra = shape.global_batch % ranks;
  const std::int64_t first = rank * share + std::min<std::int64_t>(rank, extra);
  const std::int64_t mine = share + (rank < extra ? 1 : 0);
  const bool is_whole = shape.fills_gpu && device == DeviceKind::cuda && shape.micro_batch == 0;
  const std::int64_t most = is_whole ? mine : micro;
  add_passes(first, first + mine, std::min(most, ceil_div(mine, shape.accumulation)), passes);
  return passes;
}

}  // namespace mgpu::train
