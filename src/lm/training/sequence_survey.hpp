#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/train/objective.hpp>

// Shapes in this header: S sequences of a batch.
namespace mgpu::lm {

/// Identifies a sequence of the training data. Sequences are sorted by this key.
struct SequenceKey {
  std::uint64_t group = 0;    // the sequence's value in LmBatch::groups; 0 if groups is empty
  std::uint64_t ordinal = 0;  // ordinal of the LmItems item that has the sequence
  std::int64_t index = 0;     // index of the sequence in the item

  friend auto operator<=>(const SequenceKey&, const SequenceKey&) = default;
};

/// A batch with the key of each of its sequences.
struct ItemBatch {
  LmBatch batch;
  std::vector<SequenceKey> keys;  // [S]
};
/// Returns items [first, first + count) as a batch. `clock`, if not nullptr, counts the time of the
/// call as "waiting for data".
/// Errors: ShapeError when some sequences have a group, and others do not.
ItemBatch fill_batch(const LmItems& items, std::uint64_t first, std::int64_t count,
                     PhaseClock* clock);

/// Runs the first of the two sweeps over a global batch that a SequenceLoss needs. This sweep
/// computes values of whole sequences in forward passes. Then slopes() returns the derivatives of
/// the loss, which the second sweep backpropagates.
class SequenceSurvey final : public train::ItemSurvey {
public:
  /// All arguments have to outlive this object. `clock`, if not nullptr, counts the time of
  /// measure().
  SequenceSurvey(const TrainableModel& model, const LmItems& items, const SequenceLoss& loss,
                 PhaseClock* clock)
      : model_(&model), items_(&items), loss_(&loss), clock_(clock) {}

  void clear() override;
  void measure(std::uint64_t first, std::int64_t count) override;
  std::string result() const override { return measured_; }

  /// Reads the result() of every rank, which contains SequenceLoss::facts() of all sequences that
  /// the rank has measured.
  /// Errors: ShapeError when a group is incomplete, a sequence was measured twice, or sequences
  ///         have different numbers of facts.
  void read(const std::vector<std::string>& results) override;

  /// Returns SequenceLoss::terms(), the divisor of the loss, but at least 1. Call this function
  /// after read().
  std::int64_t terms() const { return terms_; }

  /// Returns SequenceLoss::digest(), numbers about the whole global batch. Call this function after
  /// read().
  const std::vector<double>& digest() const { return digest_; }

  /// Returns sums and derivatives of the loss for `items`. `items` must be the items of one earlier
  /// call of measure(), which had the same `first`. Call this function after read().
  /// Errors: Error when there was no such call.
  BatchSlopes slopes(std::uint64_t first, const ItemBatch& items) const;

private:
  /// The results of one call of measure().
  struct Measured {
    TokenValues values;
    std::size_t sequences = 0;
  };

  void require_whole_groups() const;

  const TrainableModel* model_;
  const LmItems* items_;
  const SequenceLoss* loss_;
  PhaseClock* clock_;
  std::map<std::uint64_t, Measured> values_;  // the key is `first` of measure()
  std::string measured_;                      // the value of result()
  std::vector<SequenceKey> keys_;             // keys of the rows of table_, ascending
  SequenceTable table_;
  std::vector<double> digest_;
  std::int64_t terms_ = 1;
};

}  // namespace mgpu::lm
