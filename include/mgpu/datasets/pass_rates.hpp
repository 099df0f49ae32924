#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/datasets/dataset.hpp>

// Functions that measure several completions of one prompt together.
namespace mgpu::datasets {

/// Returns pass@k: the probability that at least one of k completions is right, if the k
/// completions are drawn without replacement from `samples` completions. Of the `samples`
/// completions, `right` are right.
///
/// Errors: Error unless 1 <= k <= samples and 0 <= right <= samples.
/// Source: Chen et al. 2021, arXiv 2107.03374, section 2.1.
double pass_at_k(std::int64_t samples, std::int64_t right, std::int64_t k);

/// Returns the values of k for pass@k: the powers of two below `samples`, and `samples` itself.
std::vector<std::int64_t> sample_counts(std::int64_t samples);

/// Returns for each answer the index of the first answer that equals it, and -1 for nullopt. An
/// answer that differs from all earlier answers gets its own index. An answer whose text occurred
/// before gets the same index as before. `same` compares any other answer with the answers that got
/// their own index, in order, until one is equal.
///
/// Time: at most one call of `same` for each pair of different texts.
std::vector<std::int32_t> first_equal(
    std::span<const std::optional<std::string>> answers,
    const std::function<bool(const std::string&, const std::string&)>& same);

/// Does the same. Dataset::is_same() compares the answers, or same_answer() if `dataset` is
/// nullptr.
std::vector<std::int32_t> first_equal(std::span<const std::optional<std::string>> answers,
                                      const Dataset* dataset);

/// Returns whether the most frequent answer is right, and no other answer is as frequent. `votes`
/// has the results of first_equal() for the first k completions of a prompt. Completions without an
/// answer do not vote. is_right[i] is not 0 if completion i is right.
///
/// Shapes: votes [k]; is_right [k] or longer
bool is_majority_right(std::span<const std::int32_t> votes, std::span<const std::uint8_t> is_right);

}  // namespace mgpu::datasets
