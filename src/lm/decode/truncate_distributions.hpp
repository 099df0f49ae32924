#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"
#include "top_k_top_p.hpp"

// A row is the hidden state from which the next token of one sequence is drawn. Shapes in this
// header: N = rows.
namespace mgpu::lm {

/// A row's candidates after top k and top p.
struct TruncatedDistribution {
  std::vector<Candidate> candidates;  // most probable first, ties by ascending id
  std::vector<float> log_probs;       // model's log-probabilities of the candidates; empty: unknown
  double divergence = 0.0;            // KL divergence due to offsets (DrawnToken::divergence)
};

/// Returns the candidates of all rows, after repetition penalty, processors, temperature, top k and
/// top p have been applied. The function first looks at the best few tokens of each row, then at
/// more tokens for the rows that need them. Rows that need the whole vocabulary are processed one
/// at a time.
/// Ranks:  collective over the ranks of a tensor-parallel model
/// Errors: Failure E704 when a logit is NaN or +infinity, or all logits of a row are -infinity.
std::vector<TruncatedDistribution> truncate_distributions(const SampledRows& rows,
                                                          const SamplingConfig& config);

/// Throws Failure E704 (logits that are not finite), which names the sample and position of the
/// site.
[[noreturn]] void refuse_row(const DrawSite& site);

/// Throws Failure E704 if one of the logsumexp values in log_sums, [N] float32 on the CPU, is not
/// finite.
void check_sums(const SampledRows& rows, const at::Tensor& log_sums);

}  // namespace mgpu::lm
