#pragma once

#include <cstddef>
#include <vector>

namespace mgpu::lm {

/// The input of share_out(): the cost of a layer, the extra costs of the first and last rank
/// (embedding and head), and the capacity of each rank.
struct LayerCosts {
  double layer;
  double first;  // extra cost of the first rank
  double last;   // extra cost of the last rank
  std::vector<double> capacities;
};

/// Returns the number of layers per rank, at least one. The load of a rank is its cost divided by
/// its capacity. The result minimizes the largest load, and then the sum of the squares of all
/// loads. The KV cache is not part of the cost. It is equally large for all layers, so an even
/// distribution of layers also distributes the cache evenly.
std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers);

}  // namespace mgpu::lm
