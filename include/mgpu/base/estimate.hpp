#pragma once

#include <cstdint>
#include <span>

namespace mgpu {

/// The mean of independent values, with its standard error and a 95 % confidence interval.
struct Estimate {
  double mean = 0.0;            // NaN without values
  double standard_error = 0.0;  // sample standard deviation / sqrt(count); NaN if count < 2
  double low = 0.0;             // bounds of the 95 % confidence interval; NaN if count < 2
  double high = 0.0;
  std::int64_t count = 0;  // number of values that are not NaN

  bool has_interval() const { return count > 1; }
};

/// Returns the mean of the values that are not NaN, and its 95 % confidence interval by Student's t
/// with count - 1 degrees of freedom. Sums are taken in the order of the values, so the same values
/// in the same order give bitwise equal results.
Estimate estimate_mean(std::span<const double> values);

/// Returns the 97.5 % quantile of Student's t distribution with `degrees` degrees of freedom. The
/// error is below 1e-8.
/// Errors: Error for fewer than one degree of freedom.
/// Source: Abramowitz and Stegun, 26.7.3 and 26.7.4 below 200 degrees of freedom, 26.7.5 from 200
///         on.
double t_quantile(std::int64_t degrees);

}  // namespace mgpu
