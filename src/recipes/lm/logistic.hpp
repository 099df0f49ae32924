#pragma once

#include <algorithm>
#include <cmath>

namespace mgpu::recipes {

/// Returns log(1 + exp(z)), which is -log sigmoid(-z), without overflow.
inline double softplus(double z) {
  return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

/// Returns 1 / (1 + exp(-z)) without overflow.
inline double sigmoid(double z) {
  return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z));
}

}  // namespace mgpu::recipes
