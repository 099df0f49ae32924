#include "layer_sharing.hpp"

#include <algorithm>
#include <limits>

namespace mgpu::lm {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double load_of(const LayerCosts& costs, std::size_t rank, std::size_t layers) {
  double sum = costs.layer * static_cast<double>(layers);
  if (rank == 0) sum += costs.first;
  if (rank + 1 == costs.capacities.size()) sum += costs.last;
  return sum / costs.capacities[rank];
}

struct Sharing {
  double cost = 0.0;
  std::vector<std::size_t> layers;  // number of layers of each rank
};

/// Returns the assignment of layers to ranks that has the lowest total cost. If a set of ranks has
/// the total cost `cost`, join(cost, load) is the total cost after a rank with load `load` is added
/// to the set. The result of `join` must be at least `cost`.
template <class Join>
Sharing cheapest_sharing(const LayerCosts& costs, std::size_t layers, const Join& join) {
  const std::size_t ranks = costs.capacities.size();
  // best[r][n] is the lowest total cost of the first r ranks if they have the first n layers.
  std::vector best(ranks + 1, std::vector<double>(layers + 1, kNever));
  std::vector taken(ranks + 1, std::vector<std::size_t>(layers + 1, 0));
  best[0][0] = 0.0;
  for (std::size_t r = 1; r <= ranks; ++r) {
    for (std::size_t n = r; n <= layers; ++n) {
      for (std::size_t own = 1; own <= n; ++own) {
        const double cost = join(best[r - 1][n - own], load_of(costs, r - 1, own));
        if (cost >= best[r][n]) continue;
        best[r][n] = cost;
        taken[r][n] = own;
      }
    }
  }
  Sharing sharing{best[ranks][layers], std::vector<std::size_t>(ranks)};
  for (std::size_t r = ranks, n = layers; r > 0; n -= taken[r][n], --r)
    sharing.layers[r - 1] = taken[r][n];
  return sharing;
}

}  // namespace

std::vector<std::size_t> share_out(const LayerCosts& costs, std::size_t layers) {
  const auto larger = [](double cost, double load) { return std::max(cost, load); };
  const double fullest = cheapest_sharing(costs, layers, larger).cost;
  const auto squares = [fullest](double cost, double load) {
    return load > fullest ? kNever : cost + load * load;
  };
  return cheapest_sharing(costs, layers, squares).layers;
}

}  // namespace mgpu::lm
