#include <algorithm>
#include <iterator>
#include <numeric>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/sequence_values.hpp>

#include "value_count.hpp"

namespace mgpu::lm {
namespace {

/// Returns values [first, first + count); an empty span if `values` is empty.
std::span<const double> part(const std::vector<double>& values, std::size_t first,
                             std::size_t count) {
  return values.empty() ? std::span<const double>() : std::span(values).subspan(first, count);
}

std::size_t learned_in(std::span<const std::int64_t> targets) {
  return targets.size() - static_cast<std::size_t>(
                              std::count(targets.begin(), targets.end(), kernels::kIgnoreTarget));
}

}  // namespace

std::span<const double> MeasuredSequence::token_column(std::string_view name) const {
  return std::span(column_of(batch_->token_columns, name)).subspan(begin_, ids.size());
}

double MeasuredSequence::sequence_column(std::string_view name) const {
  return column_of(batch_->sequence_columns, name)[index_];
}

std::int64_t MeasuredSequence::predictions() const {
  return static_cast<std::int64_t>(learned_in(targets));
}

double MeasuredSequence::log_prob() const {
  return std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
}

std::vector<MeasuredSequence> sequences_of(const LmBatch& batch, const TokenValues& values,
                                           const ValueRequest& request) {
  const bool sees_last = request.head_rows == HeadRows::last;
  const std::size_t rows = sees_last ? batch.spans.size() : learned_in(batch.targets);
  const std::size_t outputs = rows == 0 ? 0 : values.head.size() / rows;
  require_count("log-probabilities", values.log_probs.size(), batch.targets.size());
  require_count("entropies", values.entropies.size(), batch.targets.size());
  require_count("plain log-probabilities", values.plain_log_probs.size(), batch.targets.size());
  require_count("outputs of the head", values.head.size(), outputs * rows);
  std::vector<MeasuredSequence> sequences;
  std::size_t token = 0;
  std::size_t row = 0;
  for (const SequenceSpan& span : batch.spans) {
    const std::size_t length = span.ids.size();
    MeasuredSequence sequence;
    sequence.batch_ = &batch;
    sequence.index_ = sequences.size();
    sequence.begin_ = token;
    sequence.ids = span.ids;
    sequence.targets = std::span(batch.targets).subspan(token, length);
    sequence.log_probs = part(values.log_probs, token, length);
    sequence.entropies = part(values.entropies, token, length);
    sequence.plain_log_probs = part(values.plain_log_probs, token, length);
    const std::size_t own = sees_last ? 1 : learned_in(sequence.targets);
    sequence.head = part(values.head, row * outputs, own * outputs);
    token += length;
    row += own;
    sequences.push_back(sequence);
  }
  return sequences;
}

}  // namespace mgpu::lm
