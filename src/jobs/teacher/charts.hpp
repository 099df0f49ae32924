#pragma once

#include <cstddef>
#include <string>

#include "page.hpp"

namespace mgpu::jobs {

/// Draws the probability of the k best tokens over k, with the bytes per token below the axis.
/// Returns "" without points.
std::string svg_kept_mass(const KeptMass& mass);

/// Draws a row for each rank, up to kShownRanks: its layers or heads, and its use of time. Times
/// are omitted if no samples were processed. Returns "" without ranks.
std::string svg_rank_map(const RankMap& map);
inline constexpr std::size_t kShownRanks = 64;

}  // namespace mgpu::jobs
