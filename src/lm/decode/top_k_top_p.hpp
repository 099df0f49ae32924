#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/lm/decode/sampler.hpp>

namespace mgpu::lm {

/// A token and its logit after repetition penalty, block processors and candidate offsets.
struct ScoredToken {
  std::int64_t id = 0;
  float logit = 0.0F;
};

struct Candidate {
  std::int64_t id = 0;
  double probability = 0.0;
};

/// Returns whether `a` is more probable than `b`. If the logits are equal, the token with the lower
/// id counts as more probable.
inline bool is_better(const ScoredToken& a, const ScoredToken& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/// Returns the candidates of a row after temperature, top k and top p, without those of probability
/// 0. Returns no value if `log_total` is given and the nucleus needs more tokens than `best` has.
///
/// `best` is sorted by is_better(). `log_total` is the log of the sum of exp(logit / temperature)
/// over the vocabulary. If `log_total` is given, a probability is a token's share of this sum.
/// Otherwise, it is the share of the sum over the tokens of `best` that top k keeps, or over all
/// tokens of `best` without top k. With top p, the probabilities of the result are scaled to the
/// sum 1.
///
/// Source: Holtzman et al., arXiv 1904.09751. The nucleus of top p is the smallest set of the most
///         probable tokens whose total probability is at least p.
std::optional<std::vector<Candidate>> top_k_top_p(const std::vector<ScoredToken>& best,
                                                  const SamplingConfig& config,
                                                  std::optional<double> log_total);

/// Returns the index of the first candidate at which the cumulative probability exceeds `uniform`
/// times the sum of all probabilities. `uniform` is in [0, 1).
std::size_t pick(const std::vector<Candidate>& candidates, double uniform);

}  // namespace mgpu::lm
