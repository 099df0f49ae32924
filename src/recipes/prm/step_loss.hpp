#pragma once

#include "loss.hpp"

namespace mgpu::recipes {

/// The loss of a judged step.
struct StepLoss {
  double loss = 0.0;
  double slope = 0.0;       // derivative of the loss with respect to the logit
  bool is_correct = false;  // whether label and probability are on the same side of the threshold
};

/// Returns the loss of a step with this logit and label. `settings.kind` must be bce or mse.
StepLoss step_loss(const PrmSettings& settings, double logit, double label);

}  // namespace mgpu::recipes
