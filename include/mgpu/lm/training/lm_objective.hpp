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

/// Training of a language model: a loss on items. Losses of one sweep are a mean over the learned
/// tokens of the global batch, each with equal weight; those of two sweeps say what they are a mean
/// of, and their groups have to lie in one global batch.
class LmObjective final : public train::Objective {
public:
  /// All references have to outlive this.
  LmObjective(TrainableModel& model, LmItems& items, const TokenLoss& loss, PhaseClock& clock);
  LmObjective(const LmObjective&) = delete;
  LmObjective& operator=(const LmObjective&) = delete;
  LmObjective(LmObjective&&) = delete;
  LmObjective& operator=(LmObjective&&) = delete;
  ~LmObjective() override;

  tensor::ParameterArena& parameters() override { return model_->parameters(); }
  bool makes_items() const override { return items_->are_made(); }
  void prepare(std::uint64_t first, std::int64_t count) override;

  /// Its read() throws ShapeError where a group is not whole or facts have other lengths.
  train::ItemSurvey* survey() override;
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return items_->epoch_size(); }

  /// With a survey(): of items that one call of its measure() has measured.
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

  /// SequenceLoss::digest() of the last step, for those who report it; empty: there is none.
  std::span<const double> digest() const;

private:
  TrainableModel* model_;
  LmItems* items_;
  const TokenLoss* loss_;
  PhaseClock* clock_;
  std::unique_ptr<SequenceSurvey> survey_;  // nullptr: one sweep
};

}  // namespace mgpu::lm
