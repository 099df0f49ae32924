#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Shapes in this header: P = paths of an agent, M = latent steps, D = `width` = hidden size.
namespace mgpu::jobs {

/// The score of a path, computed from the latent states of all paths of its agent.
struct PathScore {
  double score = 0.0;
  double consistency = 0.0;  // mean similarity to the other paths, in [0, 1]
};

/// Scores the paths of an agent by their states. A score is 0.6 base + 0.4 consistency, where base
/// is 0.4 consistency + 0.3 smoothness + 0.2 verification + 0.1 quality. Verification is 0.5 for
/// each path. All sums are in float64, in the order of the elements.
///
/// Consistency is the mean of (cos + 1) / 2 over the other paths, where cos is the cosine of the
/// mean states of the two paths. If there is only one path, its consistency is 1.
///
/// Smoothness is exp(-p / 15), where p is 10 (1 + v) / (c + 0.1), clipped to [1, 100]. If c is at
/// most -0.1, p is 100. Here c is the mean cosine of consecutive states, and v is the coefficient
/// of variation of the norms of the states. Quality is the mean of 1 / (1 + v) and 1 / (1 + s),
/// where s is the standard deviation of the cosines of consecutive states. If a path has one state,
/// c is 1 and s is 0.
///
/// Shapes: states P x [M * D]; returns [P]
std::vector<PathScore> score_paths(std::span<const std::vector<float>* const> states,
                                   std::int64_t width);

/// Returns the indices of the paths that pruning keeps, in descending order of their scores.
/// Of n paths, pruning keeps n * (0.3 + 0.5 * `progress`), rounded up, but at least min(n, 2). It
/// prefers paths with a consistency of 0.9 or more, and then paths with higher scores.
/// With k agents before the judger, `progress` is i / (k - 1) after agent i, counted from 0. After
/// the last of these agents, LatentCollector keeps only the best path instead, and does not call
/// this function.
std::vector<std::size_t> prune(std::span<const PathScore> scores, double progress);

/// Returns the indices of the paths in descending order of their scores. Paths with equal scores
/// are in ascending order of their indices.
std::vector<std::size_t> by_score(std::span<const PathScore> scores);

/// Returns for each path the index of the path into which it merges, or its own index if it
/// remains. Paths are visited in descending order of their scores. A path is similar to another
/// path if the cosine of their mean states is at least `similarity`. A visited path merges into the
/// best similar path that remains. If there is no such path, the visited path remains.
///
/// Shapes: states P x [M * D], scores [P]; returns [P]
std::vector<std::size_t> merge_targets(std::span<const std::vector<float>* const> states,
                                       std::int64_t width, std::span<const PathScore> scores,
                                       double similarity);

/// Divides `children` new paths among the existing paths. A new path is called a child of the
/// existing path that it continues. Returns the number of children of each existing path. A path
/// whose element of `is_divided` is false gets one child. The other paths are called divided paths,
/// and get the remaining children:
/// - Each divided path gets at least one child, even if this makes more than `children` in all.
/// - The numbers of two divided paths differ by at most one. Earlier paths get the larger number.
std::vector<std::int64_t> share_children(std::int64_t children,
                                         const std::vector<bool>& is_divided);

/// Adds up the weights of equal answers, and returns the index of the first answer with the largest
/// sum. `firsts` has the index of the first equal answer for each answer, and -1 for a solution
/// without an answer (datasets::first_equal()). Returns -1 if there are no answers.
/// Shapes: firsts, weights [n]
std::int32_t vote(std::span<const std::int32_t> firsts, std::span<const double> weights);

}  // namespace mgpu::jobs
