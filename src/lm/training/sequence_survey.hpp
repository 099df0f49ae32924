#pragma once

#include <compare>
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

/// Which sequence of the training it is.
struct SequenceKey {
  std::uint64_t group = 0;    // LmBatch::groups, or 0
  std::uint64_t ordinal = 0;  // of its item
  std::int64_t index = 0;     // in its item

  friend auto operator<=>(const SequenceKey&, const SequenceKey&) = default;
};

/// Some items as a batch.
struct ItemBatch {
  LmBatch batch;
  std::vector<SequenceKey> keys;  // [S]
};
ItemBatch fill_batch(const LmItems& items, std::uint64_t first, std::int64_t count,
                     PhaseClock& clock);

/// The first sweep of a SequenceLoss, and its slopes for the second one.
class SequenceSurvey final : public train::ItemSurvey {
public:
  /// All references have to outlive this.
  SequenceSurvey(const TrainableModel& model, const LmItems& items, const SequenceLoss& loss,
                 PhaseClock& clock)
      : model_(&model), items_(&items), loss_(&loss), clock_(&clock) {}

  void clear() override;
  void measure(std::uint64_t first, std::int64_t count) override;
  std::string result() const override { return measured_; }

  /// Errors: ShapeError when a group is not whole, a sequence was measured twice, or sequences have
  ///         different numbers of facts.
  void read(const std::vector<std::string>& results) override;

  /// After read(): what the sum over all sequences is divided by, at least 1.
  std::int64_t terms() const { return terms_; }

  /// After read(): what the loss says of the whole batch.
  const std::vector<double>& digest() const { return digest_; }

  /// After read(), of items that one call of measure() measured.
  /// Errors: Error when it did not.
  BatchSlopes slopes(std::uint64_t first, const ItemBatch& items) const;

private:
  void require_whole_groups() const;

  const TrainableModel* model_;
  const LmItems* items_;
  const SequenceLoss* loss_;
  PhaseClock* clock_;
  std::map<std::uint64_t, TokenValues> values_;  // by first item of the call
  std::string measured_;                         // facts of the sequences, for other ranks
  std::vector<SequenceKey> keys_;                // of table_, ascending
  SequenceTable table_;
  std::vector<double> digest_;
  std::int64_t terms_ = 1;
};

}  // namespace mgpu::lm
