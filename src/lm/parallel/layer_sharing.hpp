#pragma once

#include <cstddef>
#include <vector>

namespace mgpu::lm {

/// What a rank is charged for layers and for the ends of the model, and how much it can take.
struct LayerCosts {
  double layer;
  double first;  // on the first rank
  double last;   // on the last rank
  std::vector<double> capacities;
};

/// Layers per rank, one at least, such that the fullest rank is as empty as possible, and the
/// others are about as full as each other: keys and values, of which nobody knows how many come, go
/// by layers too.
std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers);

}  // namespace mgpu::lm
