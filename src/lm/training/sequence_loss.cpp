#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

#include "token_values.hpp"
#include "value_count.hpp"

namespace mgpu::lm {
namespace {

/// Appends the `count` values of a sequence to `column`. `filled` is the number of values of
/// earlier sequences. If `values` or `column` is empty, its values are zeros. If both are empty,
/// the column stays empty.
void append(std::vector<double>& column, std::size_t filled, const std::vector<double>& values,
            std::size_t count) {
  if (values.empty() && column.empty()) return;
  column.resize(filled, 0.0);
  column.insert(column.end(), values.begin(), values.end());
  column.resize(filled + count, 0.0);
}

}  // namespace

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
  require_count("slopes of log-probabilities", batch.slopes->log_probs.size(),
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
    require_count("slopes of the head", slopes.head.size(),
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
    require_count("slopes of log-probabilities", term.log_probs.size(), sequence.ids.size());
    require_count("slopes of the head", term.head.size(), sequence.head.size());
    slopes.sums += {term.loss, sequence.predictions(), term.correct};
    append(slopes.log_probs, tokens, term.log_probs, sequence.ids.size());
    append(slopes.head, outputs, term.head, sequence.head.size());
    tokens += sequence.ids.size();
    outputs += sequence.head.size();
  }
  return slopes;
}

}  // namespace mgpu::lm
