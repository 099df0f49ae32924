// Tests the search of OmegaPRM with answers that follow from a planted first wrong step.
#include "jobs/collect/omega_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;

/// Returns a solution whose steps are the tokens `ids`, one token each. It is right if no token is
/// negative.
Solution solution_of(const std::vector<std::int64_t>& ids) {
  Solution solution;
  solution.completion.ids = ids;
  for (std::size_t i = 0; i < ids.size(); ++i)
    solution.steps.push_back({i, 1});
  solution.answer.is_right = std::ranges::all_of(ids, [](std::int64_t id) { return id >= 0; });
  return solution;
}

std::vector<std::int64_t> ids_of_probe(const OmegaSearch::Probe& probe) {
  const std::vector<std::int64_t>& ids = probe.solution->completion.ids;
  return {ids.begin(), ids.begin() + probe.tokens()};
}

/// A policy with solutions of `length` steps. Each step is wrong with probability 1/6. A solution
/// with a wrong step is never right.
class Policy {
public:
  explicit Policy(std::int64_t length, std::uint64_t seed = 1) : length_(length), seed_(seed) {}

  std::vector<Solution> complete(const std::vector<std::int64_t>& begin, int count) {
    std::vector<Solution> solutions;
    for (int i = 0; i < count; ++i) {
      std::vector<std::int64_t> ids = begin;
      const RandomStream draws(seed_, Purpose::source, 0, calls_++);
      for (std::uint64_t d = 0; std::ssize(ids) < length_; ++d) {
        const std::int64_t token = 1 + draws.below(1000, 2 * d);
        ids.push_back(draws.below(6, 2 * d + 1) == 0 ? -token : token);
      }
      solutions.push_back(solution_of(ids));
    }
    return solutions;
  }

private:
  std::int64_t length_;
  std::uint64_t seed_;
  std::uint64_t calls_ = 0;
};

/// Runs the search, and returns the beginnings that it asked for.
std::vector<std::vector<std::int64_t>> run(OmegaSearch& search, Policy& policy, int rollouts) {
  std::vector<std::vector<std::int64_t>> asked;
  while (const auto probe = search.next()) {
    EXPECT_EQ(probe->number, std::ssize(asked));
    asked.push_back(ids_of_probe(*probe));
    search.answer(policy.complete(asked.back(), rollouts));
  }
  return asked;
}

bool is_beginning(const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& of) {
  return begin.size() <= of.size() && std::equal(begin.begin(), begin.end(), of.begin());
}

TEST(OmegaSearchTest, HalvesTheStepsOfAWrongSolution) {
  const std::vector<std::int64_t> wrong = {1, 2, 3, 4, 5, -6, 7, 8};
  OmegaSearch search({.searches = 1}, {solution_of(wrong), solution_of({9})});
  std::vector<std::size_t> lengths;
  while (const auto probe = search.next()) {
    const std::vector<std::int64_t> ids = ids_of_probe(*probe);
    lengths.push_back(ids.size());
    std::vector<std::int64_t> ended = ids;
    ended.push_back(50);
    search.answer({solution_of(ended), solution_of({ids.begin(), ids.end()})});
  }
  EXPECT_THAT(lengths, ElementsAre(4, 6, 5));  // right, wrong, right: step 6 is the first wrong one
}

TEST(OmegaSearchTest, WithoutBothAnswersThereIsNothingToSearch) {
  OmegaSearch right({}, {solution_of({1, 2}), solution_of({3})});
  EXPECT_FALSE(right.next());
  OmegaSearch wrong({}, {solution_of({1, -2}), solution_of({-3})});
  EXPECT_FALSE(wrong.next());
  EXPECT_EQ(wrong.paths().size(), 2U);
  EXPECT_EQ(wrong.tree().nodes.size(), 3U);
}

TEST(OmegaSearchTest, FindsTheFirstWrongStepOfEverySearchedPath) {
  Policy policy(16);
  OmegaSearch search({.searches = 12}, policy.complete({}, 12));
  run(search, policy, 64);  // so many that each right beginning has a right rollout
  const StepTree tree = search.tree();
  const std::vector<Solution> paths = search.paths();
  EXPECT_GT(paths.size(), 12U);
  std::map<std::vector<std::int64_t>, double> values;
  for (std::size_t n = 1; n < tree.nodes.size(); ++n) {
    const StepNode& node = tree.nodes[n];
    const auto& ids = paths[static_cast<std::size_t>(node.path)].completion.ids;
    values[{ids.begin(), ids.begin() + node.step}] = node.value;
  }
  std::size_t found = 0;
  for (const auto& [ids, value] : values) {
    const bool is_right = std::ranges::all_of(ids, [](std::int64_t id) { return id >= 0; });
    EXPECT_EQ(value > 0.0, is_right);
    if (is_right || ids.size() < 2) continue;
    const std::vector<std::int64_t> before(ids.begin(), ids.end() - 1);
    found += before.back() >= 0 && values.contains(before) ? 1U : 0U;
  }
  EXPECT_GE(found, 8U);  // nodes with a first wrong step whose right step before is a node, too
}

TEST(OmegaSearchTest, ANodeIsBelowTheLongestStateThatBeginsIt) {
  Policy policy(12, 5);
  OmegaSearch search({.searches = 8}, policy.complete({}, 10));
  run(search, policy, 6);
  const StepTree tree = search.tree();
  const std::vector<Solution> paths = search.paths();
  const auto ids_of = [&](const StepNode& node) -> std::vector<std::int64_t> {
    if (node.path < 0) return {};
    const auto& ids = paths[static_cast<std::size_t>(node.path)].completion.ids;
    return {ids.begin(), ids.begin() + node.step};
  };
  const auto states = tree.nodes.size() - paths.size();
  for (std::size_t n = 1; n < tree.nodes.size(); ++n) {
    const auto parent = static_cast<std::size_t>(tree.nodes[n].parent);
    ASSERT_LT(parent, n);
    std::size_t longest = 0;
    for (std::size_t s = 1; s < states; ++s)
      if (s != n && ids_of(tree.nodes[s]).size() < ids_of(tree.nodes[n]).size() &&
          is_beginning(ids_of(tree.nodes[s]), ids_of(tree.nodes[n])))
        longest = s;
    EXPECT_EQ(parent, longest);
  }
  EXPECT_EQ(tree.children.size(), tree.nodes.size() - 1);
}

/// Does the search as the paper describes it, with plain lists. Returns the beginnings that it asks
/// for.
std::vector<std::vector<std::int64_t>> plain_search(const OmegaRules& rules,
                                                    const std::vector<Solution>& paths,
                                                    Policy& policy, int rollouts) {
  struct Plain {
    std::vector<std::int64_t> ids;
    std::vector<Solution> rollouts;
    std::vector<bool> taken;
    double count = 0.0;
    double mc() const {
      double right = 0.0;
      for (const Solution& rollout : rollouts)
        right += rollout.answer.is_right ? 1.0 : 0.0;
      return right / static_cast<double>(rollouts.size());
    }
  };
  std::vector<Plain> all = {{{}, paths, std::vector<bool>(paths.size()), 0.0}};
  std::vector<std::vector<std::int64_t>> asked;
  const auto mc_of = [&](const std::vector<std::int64_t>& ids) {
    for (const Plain& state : all)
      if (state.ids == ids) return state.mc();
    asked.push_back(ids);
    all.push_back({ids, policy.complete(ids, rollouts), {}, 0.0});
    all.back().taken.resize(all.back().rollouts.size());
    return all.back().mc();
  };
  for (std::int64_t done = 0; done < rules.searches; ++done) {
    double total = 0.0;
    for (const Plain& state : all)
      total += state.count;
    double best = -1.0;
    std::size_t of = 0;
    std::size_t at = 0;
    for (std::size_t s = 0; s < all.size(); ++s)
      for (std::size_t r = 0; r < all[s].rollouts.size(); ++r) {
        const Solution& rollout = all[s].rollouts[r];
        const double mc = all[s].mc();
        const auto length = static_cast<double>(rollout.completion.ids.size() - all[s].ids.size());
        if (all[s].taken[r] || rollout.answer.is_right || mc <= 0.0 || mc >= 1.0 || length == 0.0)
          continue;
        const double q =
            std::pow(rules.alpha, 1.0 - mc) * std::pow(rules.beta, length / rules.length);
        const double u = rules.exploration * std::sqrt(total) / (1.0 + all[s].count);
        if (q + u > best) {
          best = q + u;
          of = s;
          at = r;
        }
      }
    if (best < 0.0) break;
    all[of].taken[at] = true;
    all[of].count += 1.0;
    const std::vector<std::int64_t> ids = all[of].rollouts[at].completion.ids;
    std::size_t low = all[of].ids.size();
    std::size_t high = ids.size();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      const auto end = ids.begin() + static_cast<std::ptrdiff_t>(middle);
      (mc_of({ids.begin(), end}) > 0.0 ? low : high) = middle;
    }
  }
  return asked;
}

TEST(OmegaSearchTest, AsksForTheStatesOfAPlainSearch) {
  std::size_t asked = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const OmegaRules rules{.searches = 15, .length = 10.0, .exploration = 0.3};
    Policy first(14, seed);
    Policy second(14, seed);
    const std::vector<Solution> paths = first.complete({}, 6);
    second.complete({}, 6);
    OmegaSearch search(rules, paths);
    const auto found = run(search, first, 4);
    EXPECT_EQ(found, plain_search(rules, paths, second, 4)) << seed;
    EXPECT_EQ(std::set(found.begin(), found.end()).size(), found.size());  // no repetition
    asked += found.size();
  }
  EXPECT_GT(asked, 200U);
}

TEST(OmegaSearchTest, ASearchWithoutStepsBetweenAsksForNothing) {
  OmegaSearch search({}, {solution_of({1}), solution_of({-2})});
  EXPECT_FALSE(search.next());
  EXPECT_THAT(search.tree().children, ElementsAre(1, 2));
  EXPECT_EQ(search.paths().size(), 2U);
}

}  // namespace
}  // namespace mgpu::jobs
