#pragma once

#include <cstdint>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::recipes {

/// Returns the probability that a judge who follows the Bradley-Terry model prefers the chosen
/// completion: sigmoid(beta (score_chosen - score_rejected)).
///
/// Source: Bradley and Terry, Rank analysis of incomplete block designs (Biometrika 1952).
double preference_probability(double beta, double score_chosen, double score_rejected);

/// Draws at random which completion of a row is preferred. The chosen one is preferred with the
/// probability preference_probability() of the members `score_chosen` and `score_rejected`. Returns
/// the row, with `chosen` and `rejected` exchanged if the rejected completion is preferred. The
/// random number depends only on `seed` and on the texts of the row, so every rank and every epoch
/// draws the same number.
/// Errors: JsonError if a score is not a finite number.
formats::JsonValue draw_preference(const formats::JsonValue& row, double beta, std::uint64_t seed);

}  // namespace mgpu::recipes
