#include <algorithm>
#include <numeric>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

#include "grad_head.hpp"

namespace mgpu::lm {
namespace {

/// Values [first, first + count), or none where nothing was measured.
std::span<const double> part(const std::vector<double>& values, std::size_t first,
                             std::size_t count) {
  return values.empty() ? std::span<const double>() : std::span(values).subspan(first, count);
}

void require_values(const char* what, std::size_t size, std::size_t expected) {
  if (size != 0 && size != expected)
    throw ShapeError(std::string(what) + ": " + std::to_string(size) + " values, not " +
                     std::to_string(expected));
}

/// Adds values to a column that is empty while all of them are 0.
void append(std::vector<double>& column, std::size_t filled, const std::vector<double>& values,
            std::size_t count) {
  if (values.empty() && column.empty()) return;
  column.resize(filled, 0.0);
  column.insert(column.end(), values.begin(), values.end());
  column.resize(filled + count, 0.0);
}

}  // namespace

std::span<const double> MeasuredSequence::token_column(std::string_view name) const {
  return std::span(column_of(batch_->token_columns, name)).subspan(begin_, ids.size());
}

double MeasuredSequence::sequence_column(std::string_view name) const {
  return column_of(batch_->sequence_columns, name)[index_];
}

std::int64_t MeasuredSequence::predictions() const {
  return std::ssize(targets) - std::count(targets.begin(), targets.end(), kernels::kIgnoreTarget);
}

double MeasuredSequence::log_prob() const {
  return std::accumulate(log_probs.begin(), log_probs.end(), 0.0);
}

std::vector<MeasuredSequence> sequences_of(const LmBatch& batch, const TokenValues& values,
                                           const ValueRequest& request) {
  require_values("log-probabilities", values.log_probs.size(), batch.targets.size());
  require_values("entropies", values.entropies.size(), batch.targets.size());
  const auto learned = batch.targets.size() -
                       static_cast<std::size_t>(std::count(
                           batch.targets.begin(), batch.targets.end(), kernels::kIgnoreTarget));
  const std::size_t rows =
      request.head_rows == HeadRows::last ? batch.runs.size() : std::max<std::size_t>(learned, 1);
  const std::size_t outputs = values.head.size() / rows;
  require_values("outputs of the head", values.head.size(), outputs * rows);
  std::vector<MeasuredSequence> sequences;
  std::size_t token = 0;
  std::size_t row = 0;
  for (std::size_t s = 0; s < batch.runs.size(); ++s) {
    MeasuredSequence sequence;
    const std::size_t length = batch.runs[s].ids.size();
    sequence.batch_ = &batch;
    sequence.index_ = s;
    sequence.begin_ = token;
    sequence.ids = batch.runs[s].ids;
    sequence.targets = std::span(batch.targets).subspan(token, length);
    sequence.log_probs = part(values.log_probs, token, length);
    sequence.entropies = part(values.entropies, token, length);
    const std::size_t own =
        request.head_rows == HeadRows::last ? 1 : static_cast<std::size_t>(sequence.predictions());
    sequence.head = part(values.head, row * outputs, own * outputs);
    token += length;
    row += own;
    sequences.push_back(sequence);
  }
  return sequences;
}

SequenceTable::SequenceTable(std::vector<SequenceFacts> rows) : rows_(std::move(rows)) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::size_t group = rows_[row].group;
    if (group + 1 == begins_.size()) continue;
    if (group != begins_.size()) throw ShapeError("SequenceTable: groups are not in order");
    begins_.push_back(row);
  }
  begins_.push_back(rows_.size());
}

std::int64_t SequenceTable::predictions() const {
  std::int64_t sum = 0;
  for (const SequenceFacts& row : rows_)
    sum += row.predictions;
  return sum;
}

void SequenceLoss::check(const LmBatch& batch, const LmConfig& /*model*/) const {
  if (!batch.slopes) throw ShapeError("SequenceLoss: the batch has not been weighed");
  require_values("slopes of log-probabilities", batch.slopes->log_probs.size(),
                 batch.targets.size());
}

PassLoss SequenceLoss::bind(const LmBatch& batch) const {
  const BatchSlopes& slopes = *batch.slopes;
  PassLoss loss;
  loss.sums = slopes.sums;
  if (!slopes.log_probs.empty())
    loss.of_logits = grad::weighted_log_probs(slopes.log_probs, request().temperature);
  if (slopes.head.empty()) return loss;
  loss.head_rows = request().head_rows;
  loss.of_head = [&slopes](at::Tensor& outputs, std::optional<double> scale) {
    require_values("slopes of the head", slopes.head.size(),
                   static_cast<std::size_t>(outputs.numel()));
    if (scale)
      outputs.copy_(at::tensor(slopes.head, at::kDouble).mul_(*scale).view(outputs.sizes()));
    return LmSums{};
  };
  return loss;
}

BatchSlopes weigh_all(const SequenceLoss& loss, std::span<const MeasuredSequence> sequences,
                      const SequenceTable& all, std::span<const double> digest,
                      std::span<const std::size_t> rows) {
  BatchSlopes slopes;
  std::size_t tokens = 0;
  std::size_t outputs = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const MeasuredSequence& sequence = sequences[s];
    const SequenceTerm term = loss.weigh(sequence, {all, rows[s], digest});
    require_values("slopes of log-probabilities", term.log_probs.size(), sequence.ids.size());
    require_values("slopes of the head", term.head.size(), sequence.head.size());
    slopes.sums += {term.loss, sequence.predictions(), term.correct};
    append(slopes.log_probs, tokens, term.log_probs, sequence.ids.size());
    append(slopes.head, outputs, term.head, sequence.head.size());
    tokens += sequence.ids.size();
    outputs += sequence.head.size();
  }
  return slopes;
}

}  // namespace mgpu::lm
