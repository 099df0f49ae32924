#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/training/sequence_values.hpp>
#include <mgpu/lm/training/token_loss.hpp>

// Shapes in this header: L tokens of a sequence, R rows of a sequence that the head sees, O outputs
// of the head, S sequences of a batch.
namespace mgpu::lm {

/// The facts about one sequence of the global batch that all ranks share.
struct SequenceFacts {
  std::size_t group = 0;         // number of its group in the SequenceTable
  std::uint64_t item = 0;        // number of its item in the training
  std::int64_t predictions = 0;  // number of targets that are not ignored
  std::vector<double> values{};  // the result of SequenceLoss::facts()
};

/// All sequences of a global batch, sorted by group and item. Every rank has the same table, and it
/// does not depend on the number of ranks or passes.
class SequenceTable {
public:
  /// Shapes: the groups of the rows ascend from 0 without gaps. Errors: ShapeError otherwise.
  explicit SequenceTable(std::vector<SequenceFacts> rows = {});

  std::span<const SequenceFacts> rows() const { return rows_; }
  std::size_t num_groups() const { return begins_.size() - 1; }
  std::span<const SequenceFacts> group(std::size_t group) const {
    return std::span(rows_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }
  std::size_t group_begin(std::size_t group) const { return begins_[group]; }  // first row
  std::int64_t predictions() const;                                            // of all sequences

private:
  std::vector<SequenceFacts> rows_;
  std::vector<std::size_t> begins_;  // first row of each group, and the number of rows
};

/// The place of one sequence in the global batch.
struct SequencePlace {
  const SequenceTable& all;
  std::size_t row = 0;             // of the sequence in `all`
  std::span<const double> digest;  // the result of SequenceLoss::digest()

  const SequenceFacts& facts() const { return all.rows()[row]; }
  std::span<const SequenceFacts> group() const { return all.group(facts().group); }
  std::size_t member() const { return row - all.group_begin(facts().group); }  // index in group()
};

/// The contribution of one sequence to the loss.
struct SequenceTerm {
  double loss = 0.0;         // added to the sum; only one member adds what its group has in common
  std::int64_t correct = 0;  // added to the numerator of the accuracy

  /// Derivatives of the whole sum, including what other sequences of the group add to it.
  std::vector<double> log_probs{};  // [L] with respect to the targets' log-probs; empty: all 0
  std::vector<double> head{};       // [R, O] with respect to the outputs of the head; empty: all 0
};

/// A loss of whole sequences and groups. Training makes two sweeps over a global batch. The first
/// sweep runs forward and computes the values of request(). Then facts() reduces them to a few
/// numbers per sequence, which all ranks exchange. Then weigh() gets each whole sequence with the
/// facts of its group, even if the group's members are on different ranks. The second sweep runs
/// forward and backward with the derivatives that weigh() returned.
///
/// The loss is the sum of all terms divided by terms(). Functions are called on any rank and in any
/// order, so their results must depend on their arguments only.
class SequenceLoss : public TokenLoss {
public:
  virtual ValueRequest request() const { return {}; }

  /// Returns the numbers about a sequence that are sent to all ranks. All sequences must have
  /// equally many.
  virtual std::vector<double> facts(const MeasuredSequence& /*sequence*/) const { return {}; }

  /// Returns numbers about the whole global batch, which weigh() gets with every sequence.
  virtual std::vector<double> digest(const SequenceTable& /*all*/) const { return {}; }

  virtual SequenceTerm weigh(const MeasuredSequence& sequence,
                             const SequencePlace& place) const = 0;

  /// Returns the divisor of the sum. By default it is the number of sequences.
  virtual std::int64_t terms(const SequenceTable& all) const {
    return static_cast<std::int64_t>(all.rows().size());
  }

  void check(const LmBatch& batch, const LmConfig& model) const override;
  PassLoss bind(const LmBatch& batch) const final;
  const SequenceLoss* in_two_sweeps() const final { return this; }
};

/// Calls weigh() for the sequences [S] of a batch. `rows` [S] are their rows in the table.
/// Errors: ShapeError when a term does not have the lengths of its sequence.
BatchSlopes weigh_all(const SequenceLoss& loss, std::span<const MeasuredSequence> sequences,
                      const SequenceTable& all, std::span<const double> digest,
                      std::span<const std::size_t> rows);

}  // namespace mgpu::lm
