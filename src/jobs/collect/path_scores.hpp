#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Shapes in this header: P = paths of an agent, M = latent steps, D = width.
namespace mgpu::jobs {

/// The score of a path, computed from its latent states alone.
struct PathScore {
  double score = 0.0;
  double consistency = 0.0;  // mean similarity to the other paths, in [0, 1]
};

/// Scores the paths of an agent by their states: 0.6 base + 0.4 consistency. Here base is 0.4
/// consistency + 0.3 smoothness + 0.2 * 0.5 + 0.1 quality. All sums are in float64 and in order.
///
/// Consistency is the mean of (cos + 1) / 2 of the mean states of two paths. It is 1 for a single
/// path. Smoothness is exp(-p / 15), with p = 10 (1 + v) / (c + 0.1), clipped to [1, 100], or 100
/// if c <= -0.1. Here c is the mean cosine of consecutive states, and v is the coefficient of
/// variation of their norms. Quality is the mean of 1 / (1 + v) and 1 / (1 + s). Here s is the
/// standard deviation of these cosines.
///
/// Shapes: states P x [M * D]
std::vector<PathScore> score_paths(std::span<const std::vector<float>* const> states,
                                   std::int64_t width);

/// Returns the paths that pruning keeps, in descending order of their scores. It keeps a share of
/// 0.3 + 0.5 `progress`, rounded up, but at least 2 paths. It prefers paths with a consistency of
/// 0.9 or more. `progress` is in [0, 1], and 0 after the first agent.
std::vector<std::size_t> prune(std::span<const PathScore> scores, double progress);

/// Returns the paths in descending order of their scores, and paths of equal scores in ascending
/// order.
std::vector<std::size_t> by_score(std::span<const PathScore> scores);

/// Returns for each path the one into which it merges, or its own index if it merges into none. It
/// merges into the path with the highest score that does not merge itself, and whose mean state has
/// at least the cosine `similarity` with its own.
///
/// Shapes: states P x [M * D], scores [P]; returns [P]
std::vector<std::size_t> merge_targets(std::span<const std::vector<float>* const> states,
                                       std::int64_t width, std::span<const PathScore> scores,
                                       double similarity);

/// Returns how many children each path gets of `children` in all. The paths that `is_divided` marks
/// share those which remain after one for each other path. They get at least one each, and the
/// first ones get one more if the number does not divide evenly. Without marks each path gets one.
std::vector<std::int64_t> share_children(std::int64_t children,
                                         const std::vector<bool>& is_divided);

/// Returns the answer with the largest sum of weights; the first of equal ones. Empty answers do
/// not count. Returns "" if there are only empty ones.
std::string vote(std::span<const std::string> answers, std::span<const double> weights);

}  // namespace mgpu::jobs
