#pragma once

#include <cstddef>
#include <vector>

namespace mgpu::lm {

/// The costs of a layer and of both ends of the model (embedding and head), and the capacities of
/// the ranks.
struct LayerCosts {
  double layer;
  double first;  // extra cost of the first rank
  double last;   // extra cost of the last rank
  std::vector<double> capacities;
};

/// Returns the number of layers per rank, at least one. The result minimizes the load of the
/// fullest rank and then balances the other ranks. It also balances the KV cache: the size per
/// layer is unknown here, but equal for all layers.
std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers);

}  // namespace mgpu::lm
