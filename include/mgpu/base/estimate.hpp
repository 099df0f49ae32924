#pragma once

#include <cstdint>
#include <span>

namespace mgpu {

/// The mean of independent values, and how far it may be from the mean of all possible values.
struct Estimate {
  double mean = 0.0;            // NaN without values
  double standard_error = 0.0;  // deviation (divisor N - 1) / sqrt(N); NaN for fewer than 2 values
  double low = 0.0;             // ends of the 95 % interval; NaN for fewer than 2 values
  double high = 0.0;
  std::int64_t count = 0;  // values that are not NaN

  bool has_interval() const { return count > 1; }
};

/// Returns the mean of the values that are not NaN, and its 95 % interval by Student's t with
/// count - 1 degrees of freedom. Sums are taken in the order of the values, so equal values give
/// equal bits.
Estimate estimate_mean(std::span<const double> values);

/// Returns the 97.5 % quantile of Student's t distribution, with an error below 1e-8. Errors: Error
/// for fewer than one degree of freedom.
/// Source: Abramowitz and Stegun, 26.7.3 and 26.7.4 below 200 degrees of freedom, 26.7.5 from there
///         on.
double t_quantile(std::int64_t degrees);

}  // namespace mgpu
