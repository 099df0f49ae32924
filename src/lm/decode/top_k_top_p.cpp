#include "top_k_top_p.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu::lm {
namespace {

/// Returns the size of the nucleus: the smallest n for which the first n candidates have a total
/// probability of at least top_p. Returns candidates.size() + 1 if all candidates together have
/// less.
std::size_t nucleus_size(const std::vector<Candidate>& candidates, double top_p) {
  double before = 0.0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i > 0 && before >= top_p) return i;
    before += candidates[i].probability;
  }
  return before >= top_p ? candidates.size() : candidates.size() + 1;
}

double sum_of(const std::vector<Candidate>& candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates)
    sum += candidate.probability;
  return sum;
}

void scale(std::vector<Candidate>& candidates, double factor) {
  for (Candidate& candidate : candidates)
    candidate.probability *= factor;
}

}  // namespace

std::optional<std::vector<Candidate>> top_k_top_p(const std::vector<ScoredToken>& best,
                                                  const SamplingConfig& config,
                                                  std::optional<double> log_total) {
  const auto kept = static_cast<std::size_t>(config.top_k);
  const std::size_t count = kept == 0 ? best.size() : std::min(kept, best.size());
  const auto temperature = static_cast<float>(config.temperature);
  const double top = best.front().logit / temperature;
  std::vector<Candidate> result;
  for (std::size_t i = 0; i < count; ++i) {
    const double score = best[i].logit / temperature;  // the division is rounded to float32, as in
                                                       // transformers
    result.push_back({best[i].id, std::exp(score - (log_total ? *log_total : top))});
  }
  if (!log_total) scale(result, 1.0 / sum_of(result));
  if (config.top_p < 1.0) {
    const std::size_t nucleus = nucleus_size(result, config.top_p);
    if (nucleus > result.size() && log_total) return std::nullopt;
    result.resize(std::min(nucleus, result.size()));
    scale(result, 1.0 / sum_of(result));
  }
  std::erase_if(result, [](const Candidate& candidate) { return candidate.probability == 0.0; });
  return result;
}

std::size_t pick(const std::vector<Candidate>& candidates, double uniform) {
  const double aim = uniform * sum_of(candidates);
  double reached = 0.0;
  std::size_t i = 0;
  while (i + 1 < candidates.size() && (reached += candidates[i].probability) <= aim)
    ++i;
  return i;
}

}  // namespace mgpu::lm
