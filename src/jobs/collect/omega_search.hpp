#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solution.hpp"
#include "step_tree.hpp"

namespace mgpu::jobs {

/// The settings of OmegaSearch, from the keys collect.omega.*.
struct OmegaRules {
  std::int64_t searches = 20;  // limit of binary searches per question
  double alpha = 0.5;          // in (0, 1]; a lower value prefers states with more right rollouts
  double beta = 0.9;           // in (0, 1]; a lower value prefers short rollouts
  double length = 500.0;       // each `length` tokens of a rollout give one factor beta
  double exploration = 0.125;  // c_puct; a higher value prefers states that were searched rarely
};

/// Finds the first wrong steps of solutions of one question by binary search. A state is the
/// beginning of a solution, up to the end of a step. The value MC of a state is the share of its
/// rollouts that are right. Each search takes a wrong rollout r of a state s with 0 < MC(s) < 1,
/// and halves the steps of r after s repeatedly. It continues in the second half if the state in
/// the middle has MC > 0, and in the first half otherwise. A search takes the pair (s, r) with the
/// highest Q + U among the pairs that no search has taken:
///
///   Q(s, r) = alpha^(1 - MC(s)) * beta^(tokens of r after s / length)
///   U(s) = exploration * sqrt(sum of N over all states) / (1 + N(s))
///
/// N(s) is the number of searches from s. If a search reaches a state that already has rollouts, it
/// uses these rollouts. The object has no model: next() returns a state, and the caller samples the
/// rollouts of this state. Results depend only on the paths and rollouts.
///
/// Source: Luo et al., OmegaPRM, arXiv 2406.06592, 3.2 and 3.3; the constants are those of public
///         implementations.
class OmegaSearch {
public:
  /// A state whose rollouts are needed: the first `steps` steps of `solution`.
  struct Probe {
    const Solution* solution = nullptr;  // valid until answer()
    std::int64_t steps = 0;
    std::int64_t number = 0;  // number of this probe among those of the question, from 0

    std::int64_t tokens() const { return solution->tokens_of(steps); }
  };

  /// `paths` has the sampled solutions of a question. They count as rollouts of the root, the state
  /// without steps.
  OmegaSearch(const OmegaRules& rules, std::vector<Solution> paths);

  /// Returns the state whose rollouts are needed next; nullopt if all searches are finished.
  std::optional<Probe> next();

  /// Adds the rollouts of the state that next() has returned, as complete solutions.
  void answer(std::vector<Solution> rollouts);

  /// Returns the solutions of the tree: those given to the constructor, and then each rollout in
  /// which a search has looked for a wrong step.
  std::vector<Solution> paths() const;

  /// Returns the tree. It has a node for each state, and a node with the answer at the end of each
  /// path of paths(). The parent of a node is the longest state that is a proper beginning of the
  /// node's steps.
  StepTree tree() const;

private:
  struct State {
    std::size_t solution = 0;  // index in solutions_
    std::int64_t steps = 0;    // 0: root
    Visits visits{};
    std::vector<std::size_t> rollouts{};  // indices in solutions_ of wrong rollouts that have steps
                                          // after the state and that no search has taken
    std::int64_t searches = 0;            // N: searches from this state
  };

  /// A search for the first wrong step of a solution. If steps are counted from 1, this step is one
  /// of `low` + 1 to `high`.
  struct Search {
    std::size_t solution = 0;
    std::int64_t low = 0;   // steps of the longest beginning that is known to have MC > 0
    std::int64_t high = 0;  // steps of the shortest beginning that is known to have MC = 0; at
                            // first all steps
  };

  bool begin_search();
  void take(std::size_t state, std::size_t place);
  void halve(const State& middle);
  double worth_of(const State& state, std::size_t solution, std::int64_t all) const;
  std::optional<std::size_t> find(std::size_t solution, std::int64_t steps) const;
  std::span<const std::int64_t> beginning(std::size_t solution, std::int64_t steps) const;
  void add_state(std::size_t solution, std::int64_t steps, std::vector<Solution> rollouts);
  std::int32_t parent_of(const std::vector<std::size_t>& order, std::size_t solution,
                         std::int64_t steps) const;

  OmegaRules rules_;
  std::vector<Solution> solutions_;
  std::vector<std::size_t> shown_;  // indices in solutions_ of the solutions that paths() returns
  std::vector<State> states_;       // the first is the root
  std::optional<Search> search_;
  std::int64_t searches_ = 0;
};

}  // namespace mgpu::jobs
