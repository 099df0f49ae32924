#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mgpu::recipes {

/// A step of a solution, judged by the model.
struct JudgedStep {
  std::int64_t question = 0;
  double logit = 0.0;  // logit of the probability that the step is right
  double label = 0.0;  // value or label that is learned, from 0 to 1
  bool is_right = false;
};

/// Returns the area under the ROC curve: the probability that a right step has a higher logit than
/// a wrong one, where equal logits count half. Returns NaN without right or without wrong steps, or
/// if a logit is NaN.
double area_under_curve(std::span<const JudgedStep> steps);

/// Returns the mean over questions of area_under_curve() of the steps of a question. Questions
/// without right or without wrong steps do not count. Returns NaN if no question counts, or if a
/// logit is NaN.
double area_within_questions(std::span<const JudgedStep> steps);

/// Returns the expected calibration error over ten bins of equal width. The error of a bin is the
/// distance between its mean label and its mean probability. The errors are averaged, weighted by
/// the number of steps in each bin. Returns NaN without steps, or if a logit is NaN.
/// Source: Guo et al., arXiv 1706.04599, eq. 3.
double calibration_error(std::span<const JudgedStep> steps);

}  // namespace mgpu::recipes
