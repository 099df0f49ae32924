#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "row_space.hpp"

namespace mgpu::datasets {

/// The shape of star graphs G(d, l).
struct StarGraphShape {
  std::int64_t arms = 2;    // d: number of paths (arms) that begin at the start
  std::int64_t path = 5;    // l: number of nodes of a path, the start included
  std::int64_t nodes = 50;  // N: number of labels; a graph has at most one node of each label

  std::int64_t edges() const { return arms * (path - 1); }
};

/// A star graph. Its start is the first node of `path`, and its goal is the last one.
struct StarGraph {
  std::vector<std::int64_t> path{};                            // [l] from the start to the goal
  std::vector<std::pair<std::int64_t, std::int64_t>> edges{};  // [d (l - 1)] in a random order
  std::vector<std::int64_t> random_arm{};                      // [l] nodes of a random arm

  /// Returns the prompt, such as `a,b|c,d/start,goal=` for the edges (a, b) and (c, d).
  std::string prompt() const;

  /// Returns the nodes of `path`, separated by commas: `start,...,goal`.
  std::string path_text() const;

  /// Returns the nodes of `random_arm`, separated by commas.
  std::string random_arm_text() const;

  /// Returns the tokens of the prompt. The token of a node is its label, which is below N =
  /// `nodes`. The signs `|`, `=` and `/` have the tokens N, N + 1 and N + 2. Commas have no token.
  std::vector<std::int64_t> prompt_ids(std::int64_t nodes) const;
};

/// The star graphs of a shape, in a random order. The first graphs() rows are different graphs.
/// Later rows are the same graphs with their edges in different orders.
class StarGraphs {
public:
  StarGraphs(const StarGraphShape& shape, std::uint64_t seed);

  std::uint64_t graphs() const { return graphs_.size(); }

  /// Returns the number of different rows, at most 2^62.
  std::uint64_t rows() const { return capped_product(graphs_.size(), orders_.size()); }

  /// Returns row `index` < rows().
  StarGraph row(std::uint64_t index) const;

private:
  StarGraphShape shape_;
  RowSpace graphs_;
  RowSpace orders_;
};

}  // namespace mgpu::datasets
