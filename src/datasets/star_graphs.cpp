#include <algorithm>
#include <numeric>

#include "star_graph.hpp"

namespace mgpu::datasets {
namespace {

/// Returns the number of sets of k out of n elements; 0 if this number is too large to be counted.
std::uint64_t sets_of(std::uint64_t n, std::uint64_t k) {
  std::uint64_t sets = 1;
  for (std::uint64_t i = 0; i < k; ++i) {
    if (sets > (std::uint64_t{1} << 50) / (n - i)) return 0;
    sets = sets * (n - i) / (i + 1);
  }
  return sets;
}

/// Returns how many values each choice has. The choices are the nodes of the path, then the set of
/// the first nodes of the other arms, then the other nodes of these arms.
std::vector<std::uint64_t> choices_of(const StarGraphShape& shape) {
  std::vector<std::uint64_t> choices;
  auto left = static_cast<std::uint64_t>(shape.nodes);
  const auto others = static_cast<std::uint64_t>(shape.arms - 1);
  for (std::int64_t i = 0; i < shape.path; ++i)
    choices.push_back(left--);
  choices.push_back(sets_of(left, others));
  left -= others;
  for (std::uint64_t i = 0; i < others * static_cast<std::uint64_t>(shape.path - 2); ++i)
    choices.push_back(left--);
  return choices;
}

std::vector<std::uint64_t> orders_of(std::int64_t edges) {
  std::vector<std::uint64_t> choices;
  for (std::int64_t left = edges; left > 1; --left)
    choices.push_back(static_cast<std::uint64_t>(left));
  return choices;
}

/// The labels that no node has yet.
class FreeLabels {
public:
  explicit FreeLabels(std::int64_t count) : labels_(static_cast<std::size_t>(count)) {
    std::iota(labels_.begin(), labels_.end(), 0);
  }

  std::int64_t take(RowDraws& draws) { return take_at(draws.below(labels_.size())); }

  /// Takes and returns a set of k labels. Their order is random if the set comes from the random
  /// stream, and ascending if it is computed from the number of the row.
  std::vector<std::int64_t> take_set(std::uint64_t k, RowDraws& draws) {
    std::vector<std::int64_t> taken;
    if (!draws.is_counted()) {
      while (taken.size() < k)
        taken.push_back(take(draws));
      return taken;
    }
    std::uint64_t rank = draws.below(sets_of(labels_.size(), k));
    std::vector<std::size_t> places;
    for (std::size_t at = 0; places.size() < k; ++at) {
      const std::uint64_t with = sets_of(labels_.size() - at - 1, k - places.size() - 1);
      if (rank < with) {
        places.push_back(at);
      } else {
        rank -= with;
      }
    }
    for (std::size_t i = 0; i < places.size(); ++i)
      taken.push_back(take_at(places[i] - i));
    return taken;
  }

private:
  std::int64_t take_at(std::uint64_t at) {
    const std::int64_t label = labels_[at];
    labels_.erase(labels_.begin() + static_cast<std::ptrdiff_t>(at));
    return label;
  }

  std::vector<std::int64_t> labels_;
};

std::string pair_text(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + "," + std::to_string(b);
}

std::string nodes_text(const std::vector<std::int64_t>& nodes) {
  std::string text;
  for (const std::int64_t node : nodes)
    text += (text.empty() ? "" : ",") + std::to_string(node);
  return text;
}

}  // namespace

StarGraphs::StarGraphs(const StarGraphShape& shape, std::uint64_t seed)
    : shape_(shape), graphs_(choices_of(shape), seed), orders_(orders_of(shape.edges()), seed) {}

StarGraph StarGraphs::row(std::uint64_t index) const {
  const std::uint64_t number = index % graphs_.size();
  RowDraws draws = graphs_.row(number);
  FreeLabels labels(shape_.nodes);
  StarGraph graph;
  for (std::int64_t i = 0; i < shape_.path; ++i)
    graph.path.push_back(labels.take(draws));
  const std::vector<std::int64_t> heads =
      labels.take_set(static_cast<std::uint64_t>(shape_.arms - 1), draws);
  std::vector<std::vector<std::int64_t>> arms{graph.path};
  for (const std::int64_t head : heads) {
    arms.push_back({graph.path.front(), head});
    for (std::int64_t i = 2; i < shape_.path; ++i)
      arms.back().push_back(labels.take(draws));
  }
  for (const auto& arm : arms)
    for (std::size_t i = 1; i < arm.size(); ++i)
      graph.edges.emplace_back(arm[i - 1], arm[i]);
  RowDraws order = orders_.row(index / graphs_.size(), number + 1);
  for (std::size_t left = graph.edges.size(); left > 1; --left)
    std::swap(graph.edges[left - 1], graph.edges[order.below(left)]);
  graph.random_arm = arms[order.below(arms.size())];
  return graph;
}

std::string StarGraph::prompt() const {
  std::string text;
  for (const auto& [from, to] : edges)
    text += (text.empty() ? "" : "|") + pair_text(from, to);
  return text + "/" + pair_text(path.front(), path.back()) + "=";
}

std::string StarGraph::path_text() const {
  return nodes_text(path);
}

std::string StarGraph::random_arm_text() const {
  return nodes_text(random_arm);
}

std::vector<std::int64_t> StarGraph::prompt_ids(std::int64_t nodes) const {
  std::vector<std::int64_t> ids;
  for (const auto& [from, to] : edges) {
    if (!ids.empty()) ids.push_back(nodes);
    ids.insert(ids.end(), {from, to});
  }
  ids.insert(ids.end(), {nodes + 2, path.front(), path.back(), nodes + 1});
  return ids;
}

}  // namespace mgpu::datasets
