#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/lm/decode/sampler.hpp>

namespace mgpu::lm {

/// A logit behind the repetition penalty.
struct ScoredToken {
  std::int64_t id = 0;
  float logit = 0.0F;
};

struct Candidate {
  std::int64_t id = 0;
  double probability = 0.0;
};

/// The better first: by logit, equal ones by ascending id.
inline bool is_better(const ScoredToken& a, const ScoredToken& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// Temperature, top k and top p on the best tokens of a row.
///
/// Takes `best` sorted. `log_total` is the log of the sum of exp(logit / temperature) over the
/// whole vocabulary, where top p asks for shares of that; nothing: shares of `best` after top k.
/// No value when the nucleus is not within `best`: more of them are needed.
///
/// Source: Holtzman et al., arXiv 1904.09751 (top p): the smallest set of the most probable tokens
///         whose probability is at least p.
std::optional<std::vector<Candidate>> cut_tail(const std::vector<ScoredToken>& best,
                                               const SamplingConfig& config,
                                               std::optional<double> log_total);

/// The first candidate up to which probabilities exceed `uniform` times their sum; its index.
std::size_t pick(const std::vector<Candidate>& candidates, double uniform);

/// l / penalty where l > 0, else l * penalty.
inline float penalized(float logit, double penalty) {
  const auto factor = static_cast<float>(penalty);
  return logit < 0.0F ? logit * factor : logit / factor;
}

}  // namespace mgpu::lm
