#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/training/sequence_values.hpp>
#include <mgpu/lm/training/token_loss.hpp>

// Shapes in this header: L tokens of a sequence, R hidden states of a sequence to which ModelHead
// is applied, O outputs of ModelHead, S sequences of a batch.
namespace mgpu::lm {

/// The facts about one sequence of the global batch. Every rank knows the facts about all
/// sequences.
struct SequenceFacts {
  std::size_t group = 0;         // index of the sequence's group in the SequenceTable
  std::uint64_t item = 0;        // ordinal of the LmItems item that contains the sequence
  std::int64_t predictions = 0;  // number of targets that are not ignored
  std::vector<double> values{};  // the result of SequenceLoss::facts()
};

/// Facts about all sequences of a global batch, sorted by group and item. The table is the same on
/// every rank, and for any number of ranks or passes.
class SequenceTable {
public:
  /// `rows` must be sorted by SequenceFacts::group, whose values must be 0, 1, 2 and so on, without
  /// gaps. Errors: ShapeError otherwise.
  explicit SequenceTable(std::vector<SequenceFacts> rows = {});

  std::span<const SequenceFacts> rows() const { return rows_; }
  std::size_t num_groups() const { return begins_.size() - 1; }
  std::span<const SequenceFacts> group(std::size_t group) const {
    return std::span(rows_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }
  /// Returns the index of the first row of a group.
  std::size_t group_begin(std::size_t group) const { return begins_[group]; }
  /// Returns the sum of SequenceFacts::predictions over all sequences.
  std::int64_t predictions() const;

private:
  std::vector<SequenceFacts> rows_;
  std::vector<std::size_t> begins_;  // first row of each group, then the number of rows
};

/// Identifies one sequence of the global batch, and gives access to the facts about all sequences.
struct SequencePlace {
  const SequenceTable& all;
  std::size_t row = 0;             // index of the sequence in `all`
  std::span<const double> digest;  // the result of SequenceLoss::digest() for `all`

  const SequenceFacts& facts() const { return all.rows()[row]; }
  std::span<const SequenceFacts> group() const { return all.group(facts().group); }
  /// Returns the index of the sequence in group().
  std::size_t member() const { return row - all.group_begin(facts().group); }
};

/// The result of SequenceLoss::weigh() for one sequence.
struct SequenceTerm {
  double loss = 0.0;         // a loss of a whole group is stored for only one of its sequences, and
                             // is 0 for the others
  std::int64_t correct = 0;  // number of correct predictions, for the accuracy

  /// Derivatives of the sum of `loss` over all sequences, with respect to values of this sequence.
  /// They include the effect of this sequence on the losses of the other sequences in its group.
  std::vector<double> log_probs{};  // [L] with respect to the targets' log-probs; empty: all 0
  std::vector<double> head{};       // [R, O] with respect to the outputs of ModelHead; empty: all 0
};

/// A loss that needs whole sequences, or groups of sequences. Training makes two sweeps over a
/// global batch. In the first sweep, forward passes compute the values that request() selects.
/// Then facts() reduces these values to a few numbers per sequence, which all ranks exchange. Then
/// weigh() gets each sequence with the facts about all sequences of the global batch, including
/// sequences on other ranks. In the second sweep, passes run forward and backward with the
/// derivatives that weigh() returned.
///
/// The loss is the sum of SequenceTerm::loss over all sequences, divided by terms(). The virtual
/// functions may be called on any rank and in any order, so their results must depend on their
/// arguments only.
class SequenceLoss : public TokenLoss {
public:
  /// Returns which values the first sweep computes.
  virtual ValueRequest request() const { return {}; }

  /// Returns numbers about a sequence. All ranks get these numbers as SequenceFacts::values. The
  /// number of values must be the same for all sequences.
  virtual std::vector<double> facts(const MeasuredSequence& /*sequence*/) const { return {}; }

  /// Returns numbers about the whole global batch. weigh() gets them with every sequence, as
  /// SequencePlace::digest.
  virtual std::vector<double> digest(const SequenceTable& /*all*/) const { return {}; }

  /// Returns the loss of a sequence, and the derivatives for the second sweep.
  virtual SequenceTerm weigh(const MeasuredSequence& sequence,
                             const SequencePlace& place) const = 0;

  /// Returns the number by which the sum of SequenceTerm::loss is divided. By default it is the
  /// number of sequences.
  virtual std::int64_t terms(const SequenceTable& all) const {
    return static_cast<std::int64_t>(all.rows().size());
  }

  void check(const LmBatch& batch, const LmConfig& model) const override;
  PassLoss bind(const LmBatch& batch) const final;
  const SequenceLoss* in_two_sweeps() const final { return this; }
};

/// Calls loss.weigh() for each sequence of a batch. Returns the sums and all derivatives of the
/// batch.
///
/// Shapes: sequences [S]; rows [S], the index of each sequence in all.rows()
/// Errors: ShapeError when the derivatives that weigh() returns for a sequence have a wrong length.
BatchSlopes weigh_all(const SequenceLoss& loss, std::span<const MeasuredSequence> sequences,
                      const SequenceTable& all, std::span<const double> digest,
                      std::span<const std::size_t> rows);

}  // namespace mgpu::lm
