#include <bit>
#include <vector>

#include <mgpu/base/error.hpp>

#include "search_then_exploit.hpp"

namespace mgpu::data {
namespace {

/// A set of up to 128 states.
struct StateSet {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  void insert(std::size_t state) { (state < 64 ? low : high) |= std::uint64_t{1} << (state % 64); }
  void erase(std::size_t state) {
    (state < 64 ? low : high) &= ~(std::uint64_t{1} << (state % 64));
  }
  bool empty() const { return (low | high) == 0; }
  friend StateSet operator&(StateSet a, StateSet b) { return {a.low & b.low, a.high & b.high}; }
};

/// The k-th smallest member, from 0.
std::size_t member(StateSet set, std::uint32_t k) {
  const auto in_low = static_cast<std::uint32_t>(std::popcount(set.low));
  std::uint64_t bits = k < in_low ? set.low : set.high;
  for (std::uint32_t left = k < in_low ? k : k - in_low; left > 0; --left)
    bits &= bits - 1;
  return static_cast<std::size_t>(std::countr_zero(bits)) + (k < in_low ? 0 : 64);
}

/// Searches by walking to the nearest state that this history has not been in.
///
/// Seen are the start and every state landed on, in all episodes so far. Each step anew, one of
/// the nearest unseen states is drawn uniformly, and the first move of the shortest way to it
/// is made. Nothing unseen and no reward yet: only the start, seen without landing there, is
/// left, and the way leads there.
class NearestUnseen {
public:
  struct Tables {
    explicit Tables(const StateGraph& graph);

    StateSet all;
    std::size_t radius = 0;       // largest distance
    std::vector<StateSet> rings;  // [S, radius], states at distance 1, 2, ... of each state
  };

  NearestUnseen(const StateGraph& graph, const Tables& tables)
      : graph_(graph), tables_(tables), unseen_(tables.all) {
    unseen_.erase(graph.start());
  }

  Move choose(std::uint8_t state, std::uint32_t word) const {
    if (unseen_.empty()) return graph_.way_to(graph_.start())[state];
    const StateSet* ring = &tables_.rings[state * tables_.radius];
    StateSet nearest = *ring & unseen_;
    while (nearest.empty())
      nearest = *++ring & unseen_;
    const auto size =
        static_cast<std::uint32_t>(std::popcount(nearest.low) + std::popcount(nearest.high));
    return graph_.way_to(member(nearest, pick(word, size)))[state];
  }
  void land(std::uint8_t state) { unseen_.erase(state); }

private:
  const StateGraph& graph_;
  const Tables& tables_;
  StateSet unseen_;
};

NearestUnseen::Tables::Tables(const StateGraph& graph) {
  const std::size_t n = graph.num_states();
  if (n > 128)
    throw Failure({.code = "E104",
                   .exit = ExitCode::config,
                   .sentence = "the explorer remembers at most 128 states, and there are " +
                               std::to_string(n),
                   .lines = {},
                   .help = "data.source=random_walk works for any number"});
  for (std::size_t from = 0; from < n; ++from) {
    all.insert(from);
    for (std::size_t to = 0; to < n; ++to)
      radius = std::max(radius, static_cast<std::size_t>(graph.distance(from, to)));
  }
  rings.resize(n * radius);
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to)
      if (from != to)
        rings[from * radius + static_cast<std::size_t>(graph.distance(from, to)) - 1].insert(to);
}

}  // namespace

std::unique_ptr<Source> make_explorer(const Environment& environment,
                                      const SourceOptions& options) {
  return std::make_unique<SearchThenExploit<NearestUnseen>>(environment, options);
}

}  // namespace mgpu::data
