#pragma once

#include <string>

#include "page.hpp"

namespace mgpu::jobs {

/// Probability that the k best tokens have, over k, with the bytes of a token below; "" without
/// points.
std::string svg_kept_mass(const KeptMass& mass);

/// A row for each rank: the layers or heads that it holds, and its time. Times are left out where
/// no samples were worked on. At most kShownRanks rows; "" without ranks.
std::string svg_rank_map(const RankMap& map);
inline constexpr std::size_t kShownRanks = 64;

}  // namespace mgpu::jobs
