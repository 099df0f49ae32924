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

/// Trains a language model with a loss on items. A loss that needs one sweep is averaged over the
/// learned tokens of the global batch. A SequenceLoss is divided by its terms(), and all sequences
/// of a group have to be in one global batch.
class LmObjective final : public train::Objective {
public:
  /// All references have to outlive this object.
  LmObjective(TrainableModel& model, LmItems& items, const TokenLoss& loss, PhaseClock& clock);
  LmObjective(const LmObjective&) = delete;
  LmObjective& operator=(const LmObjective&) = delete;
  LmObjective(LmObjective&&) = delete;
  LmObjective& operator=(LmObjective&&) = delete;
  ~LmObjective() override;

  tensor::ParameterArena& parameters() override { return model_->parameters(); }
  bool makes_items() const override { return items_->are_made(); }
  void prepare(std::uint64_t first, std::int64_t count) override;

  /// Returns the survey of a SequenceLoss; nullptr for other losses. Its read() throws ShapeError
  /// if a group is not whole or sequences have different numbers of facts.
  train::ItemSurvey* survey() override;
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return items_->epoch_size(); }

  /// If there is a survey(), the items must be those of one call of its measure(). Errors: Error if
  /// they are not.
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

  /// Returns SequenceLoss::digest() of the last step, for reports; empty if the loss has no digest.
  std::span<const double> digest() const;

private:
  TrainableModel* model_;
  LmItems* items_;
  const TokenLoss* loss_;
  PhaseClock* clock_;
  std::unique_ptr<SequenceSurvey> survey_;  // nullptr: one sweep
};

}  // namespace mgpu::lm
