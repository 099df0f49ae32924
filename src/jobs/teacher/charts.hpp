#pragma once

#include <cstddef>
#include <string>

#include "page.hpp"

namespace mgpu::jobs {

/// Draws the total probability of the k most probable tokens over k. Below the axis it shows how
/// many bytes per token the results need to store them. Returns "" without points.
std::string svg_kept_mass(const KeptMass& mass);

/// Draws a line for each of the first kShownRanks ranks: the layers or heads of the model that it
/// holds, and how it spent its time. Times are omitted if no samples were processed. Returns ""
/// without ranks.
std::string svg_rank_map(const RankMap& map);
inline constexpr std::size_t kShownRanks = 64;

}  // namespace mgpu::jobs
