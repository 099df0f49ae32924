#include "pass_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace mgpu::lm {
namespace {

constexpr std::int64_t kPageTokens = 16;

std::int64_t size_of(const SequenceSpan& span) {
  return std::ssize(span.ids);
}

/// Returns whether tokens at the same position in the two sequences get the same rotary embedding.
bool are_rotated_alike(const LmConfig& config, const SequenceSpan& a, const SequenceSpan& b) {
  if (config.rope.kind != RopeKind::dynamic) return true;
  const auto length = [&](const SequenceSpan& span) {
    return std::max({span.length, size_of(span), config.max_positions});
  };
  return length(a) == length(b);
}

std::int64_t common_ids(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

/// Returns the length of the common prefix of sequences `first` and `s`; 0 if sequence `s` may not
/// use the rows of sequence `first`.
std::int64_t shared_ids(const LmConfig& config, const LmBatch& batch, std::size_t first,
                        std::size_t s) {
  if (batch.groups.empty() || batch.groups[first] != batch.groups[s]) return 0;
  const SequenceSpan& one = batch.spans[first];
  const SequenceSpan& other = batch.spans[s];
  return are_rotated_alike(config, one, other) ? common_ids(one.ids, other.ids) : 0;
}

using Pages = std::vector<std::int64_t>;  // the first slot of each page of a sequence

/// The slots of a pass. A slot contains the keys and values of one row.
class Slots {
public:
  std::int64_t count() const { return std::ssize(rows_); }
  const std::vector<std::int64_t>& rows() const { return rows_; }

  void append(std::int64_t first_row, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      rows_.push_back(first_row + i);
  }

private:
  std::vector<std::int64_t> rows_;  // the row in each slot
};

/// Appends the slots of a sequence to `slots`, and returns the pages of the sequence. `of_first`
/// contains the pages of the sequence whose rows are the prefix; empty: no prefix.
Pages add_pages(const grad::TokenRange& range, const Pages& of_first, Slots& slots) {
  const std::int64_t full = range.prefix_count / kPageTokens;
  const std::int64_t rest = range.prefix_count % kPageTokens;
  Pages pages(of_first.begin(), of_first.begin() + full);
  const std::int64_t begin = slots.count();
  slots.append(range.prefix_begin + full * kPageTokens, rest);
  slots.append(range.begin, range.count);
  for (std::int64_t slot = begin; slot < slots.count(); slot += kPageTokens)
    pages.push_back(slot);
  return pages;
}

/// Sets index.page_slots, index.page_tokens and key_rows of `sequences`.
void set_pages(const std::vector<grad::TokenRange>& ranges, const at::Tensor& like,
               grad::Sequences& sequences) {
  std::vector<Pages> pages;
  Slots slots;
  std::size_t first = 0;  // the sequence whose rows are the prefix of later sequences
  std::size_t pitch = 1;
  for (std::size_t s = 0; s < ranges.size(); ++s) {
    if (ranges[s].prefix_count == 0) first = s;
    pages.push_back(add_pages(ranges[s], first == s ? Pages() : pages[first], slots));
    pitch = std::max(pitch, pages.back().size());
  }
  Pages table;
  for (Pages& line : pages) {
    line.resize(pitch, 0);
    table.insert(table.end(), line.begin(), line.end());
  }
  sequences.index.page_slots = integers(table, like).view({-1, static_cast<std::int64_t>(pitch)});
  sequences.index.page_tokens = kPageTokens;
  sequences.key_rows = integers(slots.rows(), like);
}

}  // namespace

PassRows rows_of(const LmConfig& config, const LmBatch& batch, bool shares) {
  PassRows result;
  std::int64_t token = 0;
  std::size_t first = 0;  // the sequence whose rows later sequences may use
  for (std::size_t s = 0; s < batch.spans.size(); ++s) {
    const std::int64_t size = size_of(batch.spans[s]);
    const std::int64_t prefix = shares && s > 0 ? shared_ids(config, batch, first, s) : 0;
    if (prefix == 0) first = s;
    const std::int64_t begin = std::ssize(result.tokens);
    const std::int64_t prefix_begin = prefix == 0 ? 0 : result.ranges[first].begin;
    result.ranges.push_back({begin, size - prefix, prefix_begin, prefix});
    for (std::int64_t t = 0; t < size; ++t) {
      result.rows.push_back(t < prefix ? prefix_begin + t : std::ssize(result.tokens));
      if (t >= prefix) result.tokens.push_back(token + t);
    }
    token += size;
  }
  return result;
}

grad::Sequences shared_sequences(const PassRows& rows, const at::Tensor& like) {
  grad::Sequences sequences;
  sequences.ranges = rows.ranges;
  set_pages(rows.ranges, like, sequences);
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> numbers;
  for (std::size_t s = 0; s < rows.ranges.size(); ++s)
    for (std::int64_t i = 0; i < rows.ranges[s].count; ++i) {
      positions.push_back(rows.ranges[s].prefix_count + i);
      numbers.push_back(static_cast<std::int64_t>(s));
    }
  sequences.index.positions = integers(positions, like);
  sequences.index.sequences = integers(numbers, like);
  return sequences;
}

std::vector<RotatedSpan> own_spans(const PassRows& rows, std::vector<RotatedSpan> spans) {
  for (std::size_t s = 0; s < spans.size(); ++s) {
    spans[s].first += rows.ranges[s].prefix_count;
    spans[s].count -= rows.ranges[s].prefix_count;
  }
  return spans;
}

}  // namespace mgpu::lm
