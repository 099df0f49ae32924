#pragma once

#include <cstddef>
#include <vector>

namespace mgpu::lm {

/// Costs of a layer and of both ends of the model, and the capacities of the ranks.
struct LayerCosts {
  double layer;
  double first;  // extra cost of the first rank
  double last;   // extra cost of the last rank
  std::vector<double> capacities;
};

/// Returns the number of layers per rank, at least one. It minimizes the load of the fullest rank,
/// then balances the others. The KV cache, whose size is unknown here, is proportional to layers,
/// too.
std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers);

}  // namespace mgpu::lm
