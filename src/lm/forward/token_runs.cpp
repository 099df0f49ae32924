#include "token_runs.hpp"

#include <algorithm>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {
namespace {

void check_embeddings(const LmConfig& config, const at::Tensor& embeddings) {
  if (embeddings.dim() != 2 || embeddings.size(1) != config.width)
    throw ShapeError("embeddings that are not [n, " + std::to_string(config.width) + "]");
  if (embeddings.scalar_type() != at::kFloat) throw ShapeError("embeddings that are not float32");
}

}  // namespace

at::Tensor all_ids(const LmConfig& config, std::span<const TokenRun> runs) {
  std::vector<std::int64_t> ids;
  for (const TokenRun& run : runs) {
    const bool is_elsewhere = run.embeddings.defined() || run.device_ids.defined();
    if (is_elsewhere)
      ids.resize(ids.size() + static_cast<std::size_t>(tokens_of(run)), 0);
    else
      ids.insert(ids.end(), run.ids.begin(), run.ids.end());
  }
  for (const std::int64_t id : ids)
    if (id < 0 || id >= config.vocab)
      throw ShapeError("token " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(config.vocab));
  return at::tensor(ids, at::TensorOptions().dtype(at::kLong));
}

ModelInput input_of(const LmConfig& config, std::span<const TokenRun> runs,
                    const at::Device& device) {
  ModelInput input{all_ids(config, runs).to(device), {}};
  std::int64_t row = 0;
  for (const TokenRun& run : runs) {
    const std::int64_t count = tokens_of(run);
    if (run.embeddings.defined()) {
      check_embeddings(config, run.embeddings);
      input.given.push_back({row, run.embeddings});
    } else if (run.device_ids.defined()) {
      input.ids.narrow(0, row, count).copy_(run.device_ids);
    }
    row += count;
  }
  return input;
}

std::vector<RotatedRun> places_of(const LmConfig& config, std::span<const TokenRun> runs,
                                  const PagedCache* cache) {
  std::vector<RotatedRun> result;
  for (const TokenRun& run : runs) {
    const std::int64_t count = tokens_of(run);
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
    counts.tokens += tokens_of(run);
    counts.wanted += wanted_of(run);
  }
  return counts;
}

at::Tensor wanted_rows(std::span<const TokenRun> runs, const at::Tensor& ids) {
  std::vector<std::int64_t> rows;
  std::int64_t end = 0;
  for (const TokenRun& run : runs) {
    end += tokens_of(run);
    for (std::int64_t row = end - wanted_of(run); row < end; ++row)
      rows.push_back(row);
  }
  if (std::ssize(rows) == end) return {};
  return at::tensor(rows, at::TensorOptions().dtype(at::kLong)).to(ids.device());
}

}  // namespace mgpu::lm
