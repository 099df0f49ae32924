#include "token_runs.hpp"

#include <algorithm>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

at::Tensor all_ids(const LmConfig& config, std::span<const TokenRun> runs) {
  std::vector<std::int64_t> ids;
  for (const TokenRun& run : runs)
    ids.insert(ids.end(), run.ids.begin(), run.ids.end());
  for (const std::int64_t id : ids)
    if (id < 0 || id >= config.vocab)
      throw ShapeError("token " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(config.vocab));
  return at::tensor(ids, at::TensorOptions().dtype(at::kLong));
}

std::vector<RotatedRun> places_of(const LmConfig& config, std::span<const TokenRun> runs,
                                  const PagedCache* cache) {
  std::vector<RotatedRun> result;
  for (const TokenRun& run : runs) {
    const auto count = static_cast<std::int64_t>(run.ids.size());
    const std::int64_t first = cache == nullptr ? 0 : cache->length(run.sequence);
    if (config.rope.kind == RopeKind::none && first + count > config.positions)
      throw ShapeError("a sequence of " + std::to_string(first + count) + " tokens in a model of " +
                       std::to_string(config.positions) + " positions");
    result.push_back({first, count, std::max(run.length, first + count)});
  }
  return result;
}

RowCounts count_rows(std::span<const TokenRun> runs) {
  RowCounts counts;
  for (const TokenRun& run : runs) {
    counts.tokens += static_cast<std::int64_t>(run.ids.size());
    counts.wanted += wanted_of(run);
  }
  return counts;
}

at::Tensor wanted_rows(std::span<const TokenRun> runs, const at::Tensor& ids) {
  std::vector<std::int64_t> rows;
  std::int64_t end = 0;
  for (const TokenRun& run : runs) {
    end += static_cast<std::int64_t>(run.ids.size());
    for (std::int64_t row = end - wanted_of(run); row < end; ++row)
      rows.push_back(row);
  }
  if (std::ssize(rows) == end) return {};
  return at::tensor(rows, at::TensorOptions().dtype(at::kLong)).to(ids.device());
}

}  // namespace mgpu::lm
