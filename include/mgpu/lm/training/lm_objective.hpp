#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/train/objective.hpp>

namespace mgpu::lm {

class SequenceSurvey;

/// Trains a language model with a loss on the items of an LmItems. Most losses are averaged over
/// the targets of the global batch. A SequenceLoss needs two sweeps over the batch, and the sum of
/// the loss is divided by SequenceLoss::terms(). All sequences of a group (LmBatch::groups) have to
/// be in one global batch.
class LmObjective final : public train::Objective {
public:
  /// All arguments have to outlive this object.
  LmObjective(TrainableModel& model, LmItems& items, const TokenLoss& loss, PhaseClock& clock);
  LmObjective(const LmObjective&) = delete;
  LmObjective& operator=(const LmObjective&) = delete;
  LmObjective(LmObjective&&) = delete;
  LmObjective& operator=(LmObjective&&) = delete;
  ~LmObjective() override;

  tensor::ParameterArena& parameters() override { return model_->parameters(); }
  bool makes_items() const override { return items_->are_made(); }
  void prepare(std::uint64_t first, std::int64_t count) override;
  train::ItemRounds* rounds() override { return items_->rounds(); }

  /// Returns the object that runs the first sweep of a SequenceLoss; nullptr for other losses. Its
  /// function read() throws ShapeError if a group of sequences (LmBatch::groups) is incomplete, or
  /// if sequences have different numbers of SequenceLoss::facts().
  train::ItemSurvey* survey() override;
  /// Returns the number by which the loss of items [first, first + count) is divided. For most
  /// losses, this is the number of targets of these items. For a SequenceLoss, it is
  /// SequenceLoss::terms() of the global batch, but at least 1.
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return items_->epoch_size(); }

  /// Adds the gradients of items [first, first + count) to those in parameters(). For a
  /// SequenceLoss, an earlier call of survey()->measure() must have had the same `first` and
  /// `count`. Errors: Error if there was no such call.
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

  /// Returns SequenceLoss::digest() of the last step, for reports; empty if the loss has no digest.
  std::span<const double> digest() const;

private:
  TrainableModel* model_;
  LmItems* items_;
  const TokenLoss* loss_;
  PhaseClock* clock_;
  std::unique_ptr<SequenceSurvey> survey_;  // nullptr: the loss is not a SequenceLoss
};

}  // namespace mgpu::lm
