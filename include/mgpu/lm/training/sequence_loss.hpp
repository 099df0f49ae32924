#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <mgpu/lm/training/token_loss.hpp>

// Losses of whole sequences and of groups of them, in two sweeps. The first one goes forward only,
// and measures the log-probability of each target and what the head says. Then the loss sees each
// sequence whole, beside a few numbers of all others, wherever they were measured, and gives its
// derivatives. The second sweep goes forward and backward with these.
//
// Shapes in this header: L tokens of a sequence, R its rows of the head, O outputs of the head.
namespace mgpu::lm {

/// What the first sweep measures.
struct ValueRequest {
  bool log_probs = true;     // of the targets
  bool entropies = false;    // of the distributions that they come from
  double temperature = 1.0;  // T: log-probabilities and entropies are those of softmax(logits / T)
  HeadRows head_rows = HeadRows::none;
};

/// What the first sweep says of a batch of N tokens; empty where it was not asked. At T = 1 on the
/// CPU log-probabilities have the bits of LanguageModel's.
struct TokenValues {
  std::vector<double> log_probs{};  // [N] nats; 0 where there is no target
  std::vector<double> entropies{};  // [N] nats; 0 where there is no target
  std::vector<double> head{};       // [rows of ValueRequest::head_rows, O]
};

/// A sequence of a batch, and what was measured of it. Looks into both.
class MeasuredSequence {
public:
  std::span<const std::int64_t> ids;      // [L]
  std::span<const std::int64_t> targets;  // [L] the token that follows, or kIgnoreTarget
  std::span<const double> log_probs;      // [L] nats; 0 without a target; empty: not measured
  std::span<const double> entropies;      // [L]
  std::span<const double> head;           // [R, O]; empty: not measured

  /// A column of the batch: [L] or one value. Errors: ShapeError when there is none of that name.
  std::span<const double> token_column(std::string_view name) const;
  double sequence_column(std::string_view name) const;

  std::int64_t predictions() const;  // targets that are not ignored
  double log_prob() const;           // sum of log_probs, nats

private:
  friend std::vector<MeasuredSequence> sequences_of(const LmBatch&, const TokenValues&,
                                                    const ValueRequest&);
  MeasuredSequence() = default;

  const LmBatch* batch_ = nullptr;
  std::size_t index_ = 0;  // in the batch
  std::size_t begin_ = 0;  // first token
};

/// The sequences of a batch in its order. Errors: ShapeError when the values do not fit the batch.
std::vector<MeasuredSequence> sequences_of(const LmBatch& batch, const TokenValues& values,
                                           const ValueRequest& request);

/// What all ranks know of a sequence.
struct SequenceFacts {
  std::size_t group = 0;         // its group's number in the table
  std::uint64_t item = 0;        // number of its item in the training
  std::int64_t predictions = 0;  // targets that are not ignored
  std::vector<double> values{};  // what SequenceLoss::facts() said
};

/// All sequences of a global batch, by group; members of a group in the order of their items. The
/// same on all ranks, and for every number of ranks and passes.
class SequenceTable {
public:
  /// Shapes: rows ascend by group; groups are numbered from 0 without gaps
  explicit SequenceTable(std::vector<SequenceFacts> rows = {});

  std::span<const SequenceFacts> rows() const { return rows_; }
  std::size_t num_groups() const { return begins_.size() - 1; }
  std::span<const SequenceFacts> group(std::size_t group) const {
    return std::span(rows_).subspan(begins_[group], begins_[group + 1] - begins_[group]);
  }
  std::size_t group_begin(std::size_t group) const { return begins_[group]; }
  std::int64_t predictions() const;  // of all sequences

private:
  std::vector<SequenceFacts> rows_;
  std::vector<std::size_t> begins_;  // of each group, and the end
};

/// Where a sequence stands among all.
struct SequencePlace {
  const SequenceTable& all;
  std::size_t row = 0;             // of the sequence
  std::span<const double> digest;  // what SequenceLoss::digest() said

  const SequenceFacts& facts() const { return all.rows()[row]; }
  std::span<const SequenceFacts> group() const { return all.group(facts().group); }
  std::size_t member() const { return row - all.group_begin(facts().group); }  // in group()
};

/// What a loss says of one sequence.
struct SequenceTerm {
  double loss = 0.0;         // its share of the sum; of what a group has in common, one share only
  std::int64_t correct = 0;  // terms of the sum that are right, for the accuracy

  /// Derivatives of the whole sum, with the shares of other sequences that depend on this one.
  std::vector<double> log_probs{};  // [L] by the log-probability of each target; empty: all 0
  std::vector<double> head{};       // [R, O] by the outputs of the head; empty: all 0
};

/// A loss of whole sequences and of their groups: the mean over its terms of a sum that is made
/// sequence by sequence. All functions are local and depend on their arguments only; so the loss
/// and its gradient do not depend on who computes what.
class SequenceLoss : public TokenLoss {
public:
  virtual ValueRequest request() const { return {}; }

  /// Numbers of a sequence that all ranks get, as many for each sequence.
  virtual std::vector<double> facts(const MeasuredSequence& /*sequence*/) const { return {}; }

  /// Numbers of the whole batch that weigh() needs for every sequence.
  virtual std::vector<double> digest(const SequenceTable& /*all*/) const { return {}; }

  virtual SequenceTerm weigh(const MeasuredSequence& sequence,
                             const SequencePlace& place) const = 0;

  /// Terms that the sum is divided by: the sequences, unless said otherwise.
  virtual std::int64_t terms(const SequenceTable& all) const {
    return static_cast<std::int64_t>(all.rows().size());
  }

  void check(const LmBatch& batch, const LmConfig& model) const override;
  PassLoss bind(const LmBatch& batch) const final;
  const SequenceLoss* in_two_sweeps() const final { return this; }
};

/// weigh() of sequences [S] of one batch at their `rows` of the table: the slopes of the batch.
///
/// Errors: ShapeError when a term has other lengths than its sequence.
BatchSlopes weigh_all(const SequenceLoss& loss, std::span<const MeasuredSequence> sequences,
                      const SequenceTable& all, std::span<const double> digest,
                      std::span<const std::size_t> rows);

}  // namespace mgpu::lm
