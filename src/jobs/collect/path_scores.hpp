#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Shapes in this header: P = paths of an agent, M = latent steps, D = `width` = hidden size.
namespace mgpu::jobs {

/// The score of a path, computed from the latent states of all paths of its agent.
struct PathScore {
  double score = 0.0;
  double consistency = 0.0;  // mean similarity to the other paths, in [0, 1]
};

/// Scores the paths of an agent by their states: 0.6 base + 0.4 consistency. Here base is 0.4
/// consistency + 0.3 smoothness + 0.2 * 0.5 + 0.1 quality. All sums are in float64, in the order of
/// the elements.
///
/// Consistency is the mean of (cos + 1) / 2 over the other paths. Here cos is the cosine of the
/// mean states of the two paths. The consistency of a single path is 1.
///
/// Smoothness is exp(-p / 15), with p = 10 (1 + v) / (c + 0.1), clipped to [1, 100], or p = 100
/// if c <= -0.1. Here c is the mean cosine of consecutive states, and v is the coefficient of
/// variation of their norms. Quality is the mean of 1 / (1 + v) and 1 / (1 + s). Here s is the
/// standard deviation of these cosines.
///
/// Shapes: states P x [M * D]
std::vector<PathScore> score_paths(std::span<const std::vector<float>* const> states,
                                   std::int64_t width);

/// Returns the indices of the paths that pruning keeps, in descending order of their scores. Their
/// number is the share 0.3 + 0.5 `progress` of all paths, rounded up, but at least 2. Paths with a
/// consistency of 0.9 or more are kept first. `progress` is in [0, 1]; after the first agent it is
/// 0.
std::vector<std::size_t> prune(std::span<const PathScore> scores, double progress);

/// Returns the indices of the paths in descending order of their scores. Paths with equal scores
/// are in ascending order of their indices.
std::vector<std::size_t> by_score(std::span<const PathScore> scores);

/// Returns for each path the index of the path into which it merges, or its own index if it
/// remains. Paths are visited in descending order of their scores. A path merges into the best path
/// among those that remain and whose mean states have at least the cosine `similarity` with its
/// mean state.
///
/// Shapes: states P x [M * D], scores [P]; returns [P]
std::vector<std::size_t> merge_targets(std::span<const std::vector<float>* const> states,
                                       std::int64_t width, std::span<const PathScore> scores,
                                       double similarity);

/// Returns how many of `children` new paths continue each path. A path that `is_divided` does not
/// mark gets one. The marked paths share the rest, at least one each. If the rest does not divide
/// evenly, the first marked paths get one more. If no path is marked, each path gets one.
std::vector<std::int64_t> share_children(std::int64_t children,
                                         const std::vector<bool>& is_divided);

/// Returns the answer with the largest sum of weights; of equal sums, the answer that comes first.
/// Empty answers do not count. Returns "" if all answers are empty.
std::string vote(std::span<const std::string> answers, std::span<const double> weights);

}  // namespace mgpu::jobs
