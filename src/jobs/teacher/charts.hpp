#pragma once

#include <cstddef>
#include <string>

#include "page.hpp"

namespace mgpu::jobs {

/// Draws two curves over k: the mean and the 10th percentile of the total probability of the k most
/// probable tokens. Labels below the axis give the bytes that the results need to store k tokens
/// per position, for both values of teacher.store. Returns an SVG image; "" if no points are given.
std::string svg_kept_mass(const KeptMass& mass);

/// Draws one row of bars for each of the first kShownRanks ranks. The bars show which layers or
/// heads of the model the rank holds, and how the rank spent its time. Times are omitted if this
/// attempt processed no samples. Returns an SVG image; "" without ranks.
std::string svg_rank_map(const RankMap& map);
inline constexpr std::size_t kShownRanks = 64;

}  // namespace mgpu::jobs
