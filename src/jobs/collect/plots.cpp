#include "plots.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

#include <mgpu/datasets/pass_rates.hpp>

namespace mgpu::jobs {
namespace {

/// Returns for each of the first `count` paths the index of the first path with the same answer, as
/// `dataset` compares answers. The result is -1 for a path without an answer.
std::vector<std::int32_t> votes_of(const ReadTree& tree, std::size_t count,
                                   const datasets::Dataset* dataset) {
  std::vector<std::optional<std::string>> answers;
  for (const ReadPath& path : std::span(tree.paths).first(count))
    answers.push_back(path.answer.empty() ? std::nullopt : std::optional(path.answer));
  return datasets::first_equal(answers, dataset);
}

void add_choices(const ReadTree& tree, std::size_t sampled, const datasets::Dataset* dataset,
                 CollectPlots& plots) {
  const std::vector<std::int32_t> votes = votes_of(tree, sampled, dataset);
  std::vector<std::uint8_t> is_right;
  for (const ReadPath& path : std::span(tree.paths).first(sampled))
    is_right.push_back(path.is_right ? 1 : 0);
  const std::int64_t right = std::ranges::count(is_right, 1);
  const auto samples = static_cast<std::int64_t>(sampled);
  plots.shares.push_back(static_cast<double>(right) / static_cast<double>(sampled));
  for (const std::int64_t k : datasets::sample_counts(samples)) {
    CollectPlots::Choices& choices = plots.choices[k];
    const auto first = std::span(votes).first(static_cast<std::size_t>(k));
    choices.vote.push_back(datasets::is_majority_right(first, is_right) ? 1.0 : 0.0);
    const auto first_right = std::span(is_right).first(static_cast<std::size_t>(k));
    choices.oracle.push_back(std::ranges::find(first_right, 1) != first_right.end() ? 1.0 : 0.0);
  }
}

}  // namespace

void CollectPlots::add(const ReadTree& tree, std::int64_t sampled,
                       const datasets::Dataset* dataset) {
  for (const ReadPath& path : tree.paths)
    for (std::size_t s = 0; s < path.steps.size(); ++s) {
      if (s >= sums_at.size()) {
        sums_at.push_back(0.0);
        counts_at.push_back(0);
      }
      sums_at[s] += path.steps[s].value;
      ++counts_at[s];
      percents.push_back(std::llround(100.0 * path.steps[s].value));
    }
  const std::size_t solutions = std::min(static_cast<std::size_t>(sampled), tree.paths.size());
  if (solutions > 0) add_choices(tree, solutions, dataset, *this);
}

void CollectPlots::add_rollouts(const ReadTree& tree, StepLabel label) {
  const std::int32_t own = label == StepLabel::monte_carlo ? 1 : 0;
  for (const ReadPath& path : tree.paths)
    for (std::size_t s = 0; s + 1 < path.steps.size(); ++s) {
      const ReadStep& step = path.steps[s];
      if (step.visits <= own) continue;
      const int right_rollouts = step.right - (path.is_right ? own : 0);
      const double share = static_cast<double>(right_rollouts) / (step.visits - own);
      RolloutBin& bin = bins.at(std::min<std::size_t>(static_cast<std::size_t>(10.0 * share), 9));
      ++bin.steps;
      bin.right += path.is_right ? 1 : 0;
      bin.shares += share;
    }
}

}  // namespace mgpu::jobs
