#pragma once

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/train/objective.hpp>

namespace mgpu::algorithms {

/// Supervised training of a language model: cross-entropy of the learned tokens, each with equal
/// weight over the global batch. An item is a window.
class LmObjective final : public train::Objective {
public:
  /// All references have to outlive this.
  LmObjective(language::TrainableModel& model, const LmWindows& windows, PhaseClock& clock);

  model::ParameterArena& parameters() override { return model_->parameters(); }
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return windows_->size(); }
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

private:
  language::TrainableModel* model_;
  const LmWindows* windows_;
  PhaseClock* clock_;
};

}  // namespace mgpu::algorithms
