#include "step_metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "recipes/lm/logistic.hpp"

namespace mgpu::recipes {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kBins = 10;

/// Returns whether a logit is NaN, which may happen if the training diverges. Steps with NaN logits
/// cannot be sorted.
bool lacks_logits(std::span<const JudgedStep> steps) {
  return std::ranges::any_of(steps, [](const JudgedStep& step) { return std::isnan(step.logit); });
}

/// Returns the area under the ROC curve of steps sorted by logit, lowest first. No logit is NaN.
double area_of_sorted(std::span<const JudgedStep> steps) {
  double right = 0.0;
  double wrong = 0.0;  // wrong steps with a lower logit than the current steps
  double pairs = 0.0;  // pairs in the right order; equal logits count half
  for (std::size_t first = 0; first < steps.size();) {
    std::size_t end = first;
    double run_right = 0.0;
    for (; end < steps.size() && steps[end].logit == steps[first].logit; ++end)
      run_right += steps[end].is_right ? 1.0 : 0.0;
    const double run_wrong = static_cast<double>(end - first) - run_right;
    pairs += run_right * (wrong + 0.5 * run_wrong);
    right += run_right;
    wrong += run_wrong;
    first = end;
  }
  return right == 0.0 || wrong == 0.0 ? kNoNumber : pairs / (right * wrong);
}

}  // namespace

double area_under_curve(std::span<const JudgedStep> steps) {
  if (lacks_logits(steps)) return kNoNumber;
  std::vector<JudgedStep> sorted(steps.begin(), steps.end());
  std::ranges::sort(sorted, {}, &JudgedStep::logit);
  return area_of_sorted(sorted);
}

double area_within_questions(std::span<const JudgedStep> steps) {
  if (lacks_logits(steps)) return kNoNumber;
  std::vector<JudgedStep> sorted(steps.begin(), steps.end());
  std::ranges::sort(sorted, [](const JudgedStep& a, const JudgedStep& b) {
    return a.question != b.question ? a.question < b.question : a.logit < b.logit;
  });
  double sum = 0.0;
  double questions = 0.0;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = std::ranges::find_if(first, sorted.end(), [&](const JudgedStep& step) {
      return step.question != first->question;
    });
    const double area = area_of_sorted(std::span(first, end));
    first = end;
    if (std::isnan(area)) continue;
    sum += area;
    questions += 1.0;
  }
  return questions == 0.0 ? kNoNumber : sum / questions;
}

double calibration_error(std::span<const JudgedStep> steps) {
  if (lacks_logits(steps)) return kNoNumber;
  std::array<double, kBins> excess{};  // sum of probability - label in each bin
  for (const JudgedStep& step : steps) {
    const double probability = sigmoid(step.logit);
    const auto bin = static_cast<std::size_t>(probability * static_cast<double>(kBins));
    excess.at(std::min(bin, kBins - 1)) += probability - step.label;
  }
  double sum = 0.0;
  for (const double of_bin : excess)
    sum += std::abs(of_bin);
  return sum / static_cast<double>(steps.size());  // NaN without steps
}

}  // namespace mgpu::recipes
