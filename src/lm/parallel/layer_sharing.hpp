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

/// Distributes `layers` layers, at least one to each rank, and returns the number of layers of each
/// rank. The load of a rank is its cost divided by its capacity. The result minimizes the largest
/// load. Among the results with the same largest load, it minimizes the sum of the squares of the
/// loads. The cost does not include the KV cache, whose size on a rank is proportional to the
/// number of layers.
std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers);

}  // namespace mgpu::lm
