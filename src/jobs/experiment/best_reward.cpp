#include "best_reward.hpp"

#include <cmath>

namespace mgpu::jobs {
namespace {

/// Returns x log(x / y), and 0 for x = 0.
double term(double x, double y) {
  return x > 0.0 ? x * std::log(x / y) : 0.0;
}

double kl_of(double reward, double reference) {
  return term(reward, reference) + term(1.0 - reward, 1.0 - reference);
}

}  // namespace

double best_reward(double reference, double kl) {
  if (kl >= -std::log(reference)) return 1.0;
  double low = reference;  // kl_of() rises from 0 at `reference` to -log(reference) at 1
  double high = 1.0;
  constexpr int kHalvings = 60;  // enough, because a double has 53 binary digits
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * (low + high);
    (kl_of(middle, reference) < kl ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace mgpu::jobs
