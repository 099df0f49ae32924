#include "omega_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mgpu::jobs {
OmegaSearch::OmegaSearch(const OmegaRules& rules, std::vector<Solution> paths) : rules_(rules) {
  shown_.resize(paths.size());
  std::iota(shown_.begin(), shown_.end(), std::size_t{0});
  add_state(0, 0, std::move(paths));
}

/// Adds a state (the first `steps` steps of a solution) and its rollouts. Later searches can take
/// only those rollouts that are wrong and have steps after the state.
void OmegaSearch::add_state(std::size_t solution, std::int64_t steps,
                            std::vector<Solution> rollouts) {
  State state{solution, steps};
  for (Solution& rollout : rollouts) {
    ++state.visits.count;
    state.visits.right += rollout.answer.is_right ? 1 : 0;
    if (!rollout.answer.is_right && std::ssize(rollout.steps) > steps)
      state.rollouts.push_back(solutions_.size());
    solutions_.push_back(std::move(rollout));
  }
  states_.push_back(std::move(state));
}

std::optional<OmegaSearch::Probe> OmegaSearch::next() {
  while (true) {
    while (search_ && search_->high - search_->low > 1) {
      const std::int64_t middle = (search_->low + search_->high) / 2;
      const std::optional<std::size_t> known = find(search_->solution, middle);
      if (!known) return Probe{&solutions_[search_->solution], middle, std::ssize(states_) - 1};
      halve(states_[*known]);
    }
    if (!begin_search()) return std::nullopt;
  }
}

void OmegaSearch::answer(std::vector<Solution> rollouts) {
  const std::int64_t middle = (search_->low + search_->high) / 2;
  add_state(search_->solution, middle, std::move(rollouts));
  halve(states_.back());
}

void OmegaSearch::halve(const State& middle) {
  const std::int64_t steps = (search_->low + search_->high) / 2;
  (middle.visits.right > 0 ? search_->low : search_->high) = steps;
}

/// Chooses a state with both right and wrong rollouts, and one of its rollouts, for the next
/// search. The pair has the highest worth_of(); of equal pairs, the first is chosen. Returns false
/// after OmegaRules::searches searches, or if no pair is left.
bool OmegaSearch::begin_search() {
  search_.reset();
  if (searches_ == rules_.searches) return false;
  double best = -1.0;
  std::size_t best_state = 0;
  std::size_t best_place = 0;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    const State& state = states_[s];
    if (state.visits.right == 0 || state.visits.right == state.visits.count) continue;
    for (std::size_t place = 0; place < state.rollouts.size(); ++place) {
      const double worth = worth_of(state, state.rollouts[place], searches_);
      if (worth <= best) continue;
      best = worth;
      best_state = s;
      best_place = place;
    }
  }
  if (best < 0.0) return false;
  take(best_state, best_place);
  return true;
}

void OmegaSearch::take(std::size_t state, std::size_t place) {
  std::vector<std::size_t>& rollouts = states_[state].rollouts;
  const std::size_t solution = rollouts[place];
  rollouts.erase(rollouts.begin() + static_cast<std::ptrdiff_t>(place));
  ++states_[state].searches;
  ++searches_;
  search_ = Search{solution, states_[state].steps, std::ssize(solutions_[solution].steps)};
  if (std::ranges::find(shown_, solution) == shown_.end()) shown_.push_back(solution);
}

/// Returns Q + U (see OmegaSearch) of a state and its rollout `solution`. `all` is the number of
/// searches so far.
double OmegaSearch::worth_of(const State& state, std::size_t solution, std::int64_t all) const {
  const Solution& rollout = solutions_[solution];
  const auto tokens =
      static_cast<double>(std::ssize(rollout.completion.ids) - rollout.tokens_of(state.steps));
  return std::pow(rules_.alpha, 1.0 - state.visits.share()) *
             std::pow(rules_.beta, tokens / rules_.length) +
         rules_.exploration * std::sqrt(static_cast<double>(all)) /
             static_cast<double>(1 + state.searches);
}

std::span<const std::int64_t> OmegaSearch::beginning(std::size_t solution,
                                                     std::int64_t steps) const {
  const Solution& of = solutions_[solution];
  return std::span(of.completion.ids).first(static_cast<std::size_t>(of.tokens_of(steps)));
}

/// Returns the index of the state that has the same tokens as the first `steps` steps of a
/// solution. Returns nullopt if no state has these tokens.
std::optional<std::size_t> OmegaSearch::find(std::size_t solution, std::int64_t steps) const {
  const std::span<const std::int64_t> ids = beginning(solution, steps);
  for (std::size_t s = 0; s < states_.size(); ++s)
    if (std::ranges::equal(ids, beginning(states_[s].solution, states_[s].steps))) return s;
  return std::nullopt;
}

std::vector<Solution> OmegaSearch::paths() const {
  std::vector<Solution> paths;
  for (const std::size_t solution : shown_)
    paths.push_back(solutions_[solution]);
  return paths;
}

/// Returns the position in `order` of the longest state that has fewer than `steps` steps and with
/// which the solution begins. `order` has the indices of all states in ascending order of their
/// numbers of steps.
std::int32_t OmegaSearch::parent_of(const std::vector<std::size_t>& order, std::size_t solution,
                                    std::int64_t steps) const {
  std::int32_t parent = 0;
  for (std::size_t n = 1; n < order.size(); ++n) {
    const State& state = states_[order[n]];
    if (state.steps >= steps) break;  // states are sorted by their steps
    const auto ids = beginning(state.solution, state.steps);
    const auto same = beginning(solution, state.steps);
    if (std::ranges::equal(ids, same)) parent = static_cast<std::int32_t>(n);
  }
  return parent;
}

StepTree OmegaSearch::tree() const {
  std::vector<std::size_t> order(states_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t s) { return states_[s].steps; });
  std::vector<StepNode> nodes;
  for (const std::size_t s : order) {
    const State& state = states_[s];
    const auto shown = std::ranges::find(shown_, state.solution) - shown_.begin();
    StepNode node = make_node(StepLabel::omega_prm, static_cast<std::int32_t>(shown),
                              static_cast<std::int32_t>(state.steps), state.visits);
    if (state.steps == 0) node.path = -1;
    if (state.steps > 0) node.parent = parent_of(order, state.solution, state.steps);
    nodes.push_back(node);
  }
  for (std::size_t p = 0; p < shown_.size(); ++p) {
    const Solution& path = solutions_[shown_[p]];
    const Visits own{1, path.answer.is_right ? 1 : 0};
    nodes.push_back(make_node(StepLabel::omega_prm, static_cast<std::int32_t>(p),
                              static_cast<std::int32_t>(path.steps.size()), own));
    nodes.back().parent = parent_of(order, shown_[p], std::ssize(path.steps));
  }
  return with_children(std::move(nodes));
}

}  // namespace mgpu::jobs
