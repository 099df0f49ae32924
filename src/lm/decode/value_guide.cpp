#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/value_guide.hpp>

#include "guide_offsets.hpp"

namespace mgpu::lm {
namespace {

double softplus(double z) {
  return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

/// Returns log E[exp(R / eta)] of a return R that is 1 with probability sigmoid(z), else 0.
/// `strength` is 1 / eta.
///
/// The value is softplus(1 / eta + z) - softplus(z). For z > 0, this difference of large numbers
/// would lose digits, so the function computes an equal expression with softplus of negative
/// numbers.
double log_mean_exp(double z, double strength) {
  if (z <= 0.0) return softplus(strength + z) - softplus(z);
  return strength + softplus(-strength - z) - softplus(-z);
}

/// Returns log E[exp(R / eta)] of a return R whose distribution is a histogram. `outputs` are the
/// logits of its atoms. `strength` is 1 / eta.
double log_mean_exp(const ValueHead& head, std::span<const double> outputs, double strength) {
  double most = -std::numeric_limits<double>::infinity();
  double most_tilted = most;
  const auto tilted = [&](std::size_t i) {
    return outputs[i] + strength * head.atom(static_cast<std::int64_t>(i));
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    most = std::max(most, outputs[i]);
    most_tilted = std::max(most_tilted, tilted(i));
  }
  double mass = 0.0;
  double mass_tilted = 0.0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    mass += std::exp(outputs[i] - most);
    mass_tilted += std::exp(tilted(i) - most_tilted);
  }
  return (most_tilted - most) + (std::log(mass_tilted) - std::log(mass));
}

/// Returns the log odds z, clamped so that the odds exp(z) are within min_odds and max_odds of
/// `settings`.
double log_odds(const GuideSettings& settings, double z) {
  if (settings.min_odds > 0.0) z = std::max(z, std::log(settings.min_odds));
  return std::min(z, std::log(settings.max_odds));
}

}  // namespace

const char* name_of(GuideKind kind) {
  switch (kind) {
    case GuideKind::pita:
      return "pita";
    case GuideKind::qsharp:
      return "qsharp";
    case GuideKind::cd:
      break;
  }
  return "cd";
}

const char* why_unfit(const GuideSettings& settings, ValueKind head) {
  if (settings.kind == GuideKind::qsharp && head == ValueKind::expectation)
    return "qsharp needs the distribution of the returns, of which the head `expectation` has the "
           "mean only";
  if (settings.kind == GuideKind::pita && head == ValueKind::histogram)
    return "pita needs a logit or a score, and the head `histogram` has a distribution";
  if (settings.clamps_odds() && settings.kind != GuideKind::pita)
    return "only pita has odds that can be clamped";
  if (settings.clamps_odds() && head != ValueKind::bernoulli)
    return "only the head `bernoulli` has odds that can be clamped";
  return nullptr;
}

double guide_offset(const GuideSettings& settings, const ValueHead& head,
                    std::span<const double> outputs) {
  const double strength = 1.0 / settings.eta;
  const double first = outputs[0];
  if (settings.kind == GuideKind::pita)
    return strength * (head.kind == ValueKind::bernoulli ? log_odds(settings, first) : first);
  if (settings.kind == GuideKind::cd) return strength * expected_return(head, outputs);
  return head.kind == ValueKind::histogram ? log_mean_exp(head, outputs, strength)
                                           : log_mean_exp(first, strength);
}

ValueGuide::ValueGuide(const ValueModel& model, const GuideSettings& settings)
    : SecondModelProcessor(model.backbone()), values_(&model), settings_(settings) {
  const char* unfit = why_unfit(settings, model.head().kind);
  if (unfit != nullptr) throw Error(std::string("ValueGuide: ") + unfit);
  if (!(settings.eta > 0.0)) throw Error("ValueGuide: eta is not above 0");
  if (settings.candidates < 1) throw Error("ValueGuide: no candidates");
}

at::Tensor ValueGuide::offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                               const at::Tensor& /*logits*/) {
  const at::Tensor after = states_after(rows, ids);  // [N, K, D]
  at::Tensor result =
      guide_offsets(settings_, values_->head(), values_->outputs(after.flatten(0, 1)))
          .view(ids.sizes());
  if (record_ != nullptr) record_->add(rows, ids, result);
  return result;
}

}  // namespace mgpu::lm
