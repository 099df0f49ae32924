#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>

#include "search_then_exploit.hpp"

namespace mgpu::ad {
namespace {

constexpr std::size_t kMaxStates = 128;

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

/// Returns the number of set bits. Unless the compiler may use the instruction popcnt,
/// std::popcount calls a library function, which is slower.
constexpr std::uint32_t count_bits(std::uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<std::uint32_t>((bits * 0x0101010101010101) >> 56);
}

/// Returns the k-th smallest member, counted from 0.
std::size_t member(StateSet set, std::uint32_t k) {
  const std::uint32_t in_low = count_bits(set.low);
  std::uint64_t bits = k < in_low ? set.low : set.high;
  for (std::uint32_t left = k < in_low ? k : k - in_low; left > 0; --left)
    bits &= bits - 1;
  return static_cast<std::size_t>(std::countr_zero(bits)) + (k < in_low ? 0 : 64);
}

/// The indices of the set bits of a 4-bit number, ascending, and their count.
struct SetBits {
  std::array<std::uint8_t, 4> place{};
  std::uint32_t count = 0;
};
constexpr auto kSetBits = [] {
  std::array<SetBits, 16> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits)
    for (std::uint8_t place = 0; place < 4; ++place)
      if ((bits >> place & 1) != 0) table[bits].place[table[bits].count++] = place;
  return table;
}();

/// Searches by walking to the nearest state that this history has not visited.
///
/// Visited states are the start and every state that a step reached, in all episodes so far. Each
/// step draws one of the nearest unvisited states uniformly, and makes the first move of a shortest
/// path to that state. If all states were visited without a reward, only the start can be the goal,
/// because it counts as visited before any step reaches it. The walk then goes to the start.
class NearestUnseen {
public:
  struct Tables {
    explicit Tables(const StateGraph& graph);

    /// Holds the moves from a state to up to four neighbors, in ascending order of the neighbors.
    /// Unused entries lead to the state itself. A state with more than four neighbors has only
    /// unused entries.
    using Neighbors = std::array<Move, 4>;

    StateSet all;
    std::vector<Neighbors> neighbors;  // [S], S = states of the graph
    std::size_t radius = 0;            // largest distance between two states, in moves
    std::vector<StateSet> rings;  // [S, radius], the states at distance 1, 2, ... from each state

  private:
    void add_rings(const StateGraph& graph);
    void add_neighbors(const StateGraph& graph, std::size_t from);
  };

  NearestUnseen(const StateGraph& graph, const Tables& tables)
      : graph_(graph), tables_(tables), unseen_(tables.all) {
    is_unseen_.fill(1);
    land(graph.start());
  }

  /// Returns the next move. In nine of ten steps a neighbor is unvisited, and a table gives the
  /// move without a search.
  Move choose(std::uint8_t state, std::uint32_t word) const {
    const Tables::Neighbors& near = tables_.neighbors[state];
    std::size_t bits = 0;
    for (std::size_t i = 0; i < near.size(); ++i)
      bits |= static_cast<std::size_t>(is_unseen_[near[i].next_state]) << i;
    if (bits == 0) return choose_far(state, word);
    const SetBits& unseen = kSetBits[bits];
    return near[unseen.place[pick(word, unseen.count)]];
  }
  void land(std::uint8_t state) {
    is_unseen_[state] = 0;
    unseen_.erase(state);
  }

private:
  Move choose_far(std::uint8_t state, std::uint32_t word) const {
    if (unseen_.empty()) return graph_.path_to(graph_.start())[state];
    const StateSet* ring = &tables_.rings[state * tables_.radius];
    StateSet nearest = *ring & unseen_;
    while (nearest.empty())
      nearest = *++ring & unseen_;
    const std::uint32_t size = count_bits(nearest.low) + count_bits(nearest.high);
    return graph_.path_to(member(nearest, pick(word, size)))[state];
  }

  const StateGraph& graph_;
  const Tables& tables_;
  std::array<std::uint8_t, kMaxStates> is_unseen_;  // [S] 1 for the members of unseen_, else 0
  StateSet unseen_;
};

NearestUnseen::Tables::Tables(const StateGraph& graph) : neighbors(graph.num_states()) {
  if (graph.num_states() > kMaxStates)
    throw Failure({.code = "E132",
                   .exit = ExitCode::config,
                   .sentence = "the explorer remembers at most 128 states, and there are " +
                               std::to_string(graph.num_states()),
                   .lines = {},
                   .help = "data.source=random_walk works for any number"});
  add_rings(graph);
  for (std::size_t from = 0; from < graph.num_states(); ++from)
    add_neighbors(graph, from);
}

void NearestUnseen::Tables::add_rings(const StateGraph& graph) {
  const std::size_t n = graph.num_states();
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

void NearestUnseen::Tables::add_neighbors(const StateGraph& graph, std::size_t from) {
  Neighbors& near = neighbors[from];
  near.fill({0, static_cast<std::uint8_t>(from)});
  std::size_t count = 0;
  for (std::size_t to = 0; to < graph.num_states(); ++to) {
    if (graph.distance(from, to) != 1) continue;
    if (count == near.size()) {
      near.fill({0, static_cast<std::uint8_t>(from)});
      return;
    }
    near[count++] = graph.path_to(to)[from];
  }
}

}  // namespace

std::unique_ptr<Source> make_explorer(const Environment& environment,
                                      const SourceOptions& options) {
  return std::make_unique<SearchThenExploit<NearestUnseen>>(environment, options);
}

}  // namespace mgpu::ad
