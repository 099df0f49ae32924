#include <cmath>
#include <limits>
#include <numbers>

#include <mgpu/base/error.hpp>
#include <mgpu/base/estimate.hpp>

namespace mgpu {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kNormal = 1.959963984540054;  // 97.5 % quantile of the normal distribution

/// Returns the probability that |t| < sqrt(degrees) tan(angle). Here, t has Student's distribution
/// with `degrees` degrees of freedom.
double central_probability(double angle, std::int64_t degrees) {
  const double cosine = std::cos(angle);
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? cosine : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::int64_t i = is_odd ? 3 : 2; i < degrees; i += 2) {
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  const double area = std::sin(angle) * sum;
  return is_odd ? 2.0 / std::numbers::pi * (angle + area) : area;
}

/// Returns the 97.5 % quantile of Student's t. Finds by bisection the angle for which
/// central_probability() is 0.95.
double exact_quantile(std::int64_t degrees) {
  double low = 0.0;
  double high = std::numbers::pi / 2.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (central_probability(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees)) * std::tan(low);
}

/// Returns the 97.5 % quantile of Student's t by its expansion in powers of 1 / degrees.
double expanded_quantile(std::int64_t degrees) {
  const auto n = static_cast<double>(degrees);
  const double x = kNormal;
  const double x2 = x * x;
  const double g1 = x * (x2 + 1.0) / 4.0;
  const double g2 = x * ((5.0 * x2 + 16.0) * x2 + 3.0) / 96.0;
  const double g3 = x * (((3.0 * x2 + 19.0) * x2 + 17.0) * x2 - 15.0) / 384.0;
  const double g4 =
      x * ((((79.0 * x2 + 776.0) * x2 + 1482.0) * x2 - 1920.0) * x2 - 945.0) / 92160.0;
  return x + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

}  // namespace

double t_quantile(std::int64_t degrees) {
  if (degrees < 1) throw Error("t_quantile: no degree of freedom");
  return degrees < 200 ? exact_quantile(degrees) : expanded_quantile(degrees);
}

Estimate estimate_mean(std::span<const double> values) {
  Estimate estimate{kNaN, kNaN, kNaN, kNaN, 0};
  double sum = 0.0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++estimate.count;
  }
  if (estimate.count == 0) return estimate;
  const auto count = static_cast<double>(estimate.count);
  estimate.mean = sum / count;
  if (!estimate.has_interval()) return estimate;
  double squares = 0.0;
  for (const double value : values)
    if (!std::isnan(value)) squares += (value - estimate.mean) * (value - estimate.mean);
  estimate.standard_error = std::sqrt(squares / (count - 1.0) / count);
  const double half = t_quantile(estimate.count - 1) * estimate.standard_error;
  estimate.low = estimate.mean - half;
  estimate.high = estimate.mean + half;
  return estimate;
}

}  // namespace mgpu
