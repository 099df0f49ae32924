#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "search.hpp"

namespace mgpu::jobs {

/// Returns the index of the completion with the highest score. Of equal scores, the first wins. A
/// completion without a score (NaN) is chosen only if no completion has a score.
///
/// Shapes: scores [completions of a prompt], at least one
std::size_t best_of(std::span<const double> scores);

/// Returns the result of a weighted vote. The vote adds the scores of completions with equal
/// answers, and the answer with the highest sum wins. Of equal sums, the first answer wins. The
/// result is the index of the first completion that gives the winning answer.
///
/// `same_as` has for each completion the index of the first completion with an equal answer, or -1
/// for a completion without an answer. A completion that lacks an answer or a score does not vote.
/// Returns nullopt if no completion votes.
///
/// Shapes: scores [completions of a prompt]; same_as at least as many
/// Source: Li et al., arXiv 2206.02336.
std::optional<std::size_t> voted_of(std::span<const double> scores,
                                    std::span<const std::int32_t> same_as);

/// Returns the index of the completion that a search of this kind chooses. Returns nullopt if a
/// weighted vote has no votes.
std::optional<std::size_t> chosen_of(SearchKind kind, std::span<const double> scores,
                                     std::span<const std::int32_t> same_as);

}  // namespace mgpu::jobs
