#include "step_loss.hpp"

#include "recipes/lm/logistic.hpp"

namespace mgpu::recipes {

StepLoss step_loss(const PrmSettings& settings, double logit, double label) {
  const double probability = sigmoid(logit);
  const double error = probability - label;
  const bool is_mse = settings.kind == PrmLossKind::mse;
  return {.loss = is_mse ? error * error : softplus(logit) - label * logit,
          .slope = is_mse ? 2.0 * error * probability * sigmoid(-logit) : error,
          .is_correct = (probability > settings.threshold) == (label > settings.threshold)};
}

}  // namespace mgpu::recipes
