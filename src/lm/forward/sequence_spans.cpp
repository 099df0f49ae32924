#include "sequence_spans.hpp"

#include <algorithm>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {
namespace {

void check_embeddings(const LmConfig& config, const at::Tensor& embeddings) {
  if (embeddings.dim() != 2 || embeddings.size(1) != config.hidden_size)
    throw ShapeError("embeddings that are not [n, " + std::to_string(config.hidden_size) + "]");
  if (embeddings.scalar_type() != at::kFloat) throw ShapeError("embeddings that are not float32");
}

}  // namespace

at::Tensor all_ids(const LmConfig& config, std::span<const SequenceSpan> spans) {
  std::vector<std::int64_t> ids;
  for (const SequenceSpan& span : spans) {
    const bool is_elsewhere = span.embeddings.defined() || span.device_ids.defined();
    if (is_elsewhere)
      ids.resize(ids.size() + static_cast<std::size_t>(tokens_of(span)), 0);
    else
      ids.insert(ids.end(), span.ids.begin(), span.ids.end());
  }
  for (const std::int64_t id : ids)
    if (id < 0 || id >= config.vocab)
      throw ShapeError("token " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(config.vocab));
  return at::tensor(ids, at::TensorOptions().dtype(at::kLong));
}

ModelInput input_of(const LmConfig& config, std::span<const SequenceSpan> spans,
                    const at::Device& device) {
  ModelInput input{all_ids(config, spans).to(device), {}};
  std::int64_t row = 0;
  for (const SequenceSpan& span : spans) {
    const std::int64_t count = tokens_of(span);
    if (span.embeddings.defined()) {
      check_embeddings(config, span.embeddings);
      input.given.push_back({row, span.embeddings});
    } else if (span.device_ids.defined()) {
      input.ids.narrow(0, row, count).copy_(span.device_ids);
    }
    row += count;
  }
  return input;
}

std::vector<RotatedSpan> rotated_spans(const LmConfig& config, std::span<const SequenceSpan> spans,
                                       const PagedCache* cache) {
  std::vector<RotatedSpan> result;
  for (const SequenceSpan& span : spans) {
    const std::int64_t count = tokens_of(span);
    const std::int64_t first = cache == nullptr ? 0 : cache->length(span.sequence);
    if (config.rope.kind == RopeKind::none && first + count > config.max_positions)
      throw ShapeError("a sequence of " + std::to_string(first + count) + " tokens in a model of " +
                       std::to_string(config.max_positions) + " positions");
    result.push_back({first, count, std::max(span.length, first + count)});
  }
  return result;
}

RowCounts count_rows(std::span<const SequenceSpan> spans) {
  RowCounts counts;
  for (const SequenceSpan& span : spans) {
    counts.tokens += tokens_of(span);
    counts.outputs += num_outputs_of(span);
  }
  return counts;
}

at::Tensor output_rows(std::span<const SequenceSpan> spans, const at::Tensor& ids) {
  std::vector<std::int64_t> rows;
  std::int64_t end = 0;
  for (const SequenceSpan& span : spans) {
    end += tokens_of(span);
    for (std::int64_t row = end - num_outputs_of(span); row < end; ++row)
      rows.push_back(row);
  }
  if (std::ssize(rows) == end) return {};
  return at::tensor(rows, at::TensorOptions().dtype(at::kLong)).to(ids.device());
}

}  // namespace mgpu::lm
