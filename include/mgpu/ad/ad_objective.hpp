#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/training_windows.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/train/objective.hpp>

namespace mgpu::ad {

struct AdObjectiveOptions {
  double label_smoothing = 0.0;
  std::uint64_t seed = 0;  // seed of dropout
};

/// The training objective of Algorithm Distillation: the cross-entropy of the actions in learning
/// histories, given the steps before each action. With TokenKind::step, the model predicts the
/// actions of all steps of a window. With TokenKind::transition, it predicts only the action in the
/// current state, which is the last token of a window.
///
/// Source: Laskin et al. 2022, arXiv 2210.14215, equation 1.
class AdObjective final : public train::Objective {
public:
  /// Keeps references to `model`, `windows` and `clock`, which must outlive this object. The clock
  /// measures the spans `waiting for data`, `forward` and `backward`.
  AdObjective(AdTransformer& model, const TrainingWindows& windows, AdObjectiveOptions options,
              PhaseClock& clock);

  tensor::ParameterArena& parameters() override { return model_->parameters(); }
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return windows_->size(); }
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

private:
  template <class Buffers>
  void fill(const std::vector<std::uint64_t>& ordinals, Buffers& buffers) const;

  AdTransformer* model_;
  const TrainingWindows* windows_;
  AdObjectiveOptions options_;
  PhaseClock* clock_;
};

}  // namespace mgpu::ad
