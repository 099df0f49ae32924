#include "search_choice.hpp"

#include <cmath>
#include <vector>

namespace mgpu::jobs {

std::size_t best_of(std::span<const double> scores) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i)
    if (scores[i] > scores[best] || (std::isnan(scores[best]) && !std::isnan(scores[i]))) best = i;
  return best;
}

std::optional<std::size_t> voted_of(std::span<const double> scores,
                                    std::span<const std::int32_t> same_as) {
  // The sum of an answer is at the index of the first completion that gives the answer. All other
  // elements are -1.
  std::vector<double> sums(scores.size(), -1.0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (same_as[i] < 0 || std::isnan(scores[i])) continue;
    double& sum = sums[static_cast<std::size_t>(same_as[i])];
    sum = sum < 0.0 ? scores[i] : sum + scores[i];
  }
  std::optional<std::size_t> voted;
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i] >= 0.0 && (!voted || sums[i] > sums[*voted])) voted = i;
  return voted;
}

std::optional<std::size_t> chosen_of(SearchKind kind, std::span<const double> scores,
                                     std::span<const std::int32_t> same_as) {
  if (kind == SearchKind::weighted_vote) return voted_of(scores, same_as);
  return best_of(scores);
}

}  // namespace mgpu::jobs
