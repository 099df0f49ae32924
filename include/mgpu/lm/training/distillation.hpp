#pragma once

#include <cstdint>
#include <vector>

namespace mgpu::lm {

class LanguageModel;

/// How far a student's distribution q is from its teacher's p, in nats.
enum class Divergence {
  forward_kl,     // sum p log(p / q)
  reverse_kl,     // sum q log(q / p)
  jsd,            // b sum p log(p / m) + (1 - b) sum q log(q / m), m = b p + (1 - b) q
  cross_entropy,  // -sum p log q: forward_kl without the teacher's entropy, unbiased for draws
};

/// What a student learns of its teacher: (1 - w) T^2 divergence(p, q) + w cross-entropy of the
/// data, where p and q are softmax(logits / T). Tokens that the student drew have no data.
///
/// Source: Hinton et al., arXiv 1503.02531; JSD: Agarwal et al., arXiv 2306.13649, eq. 1.
struct Distillation {
  Divergence divergence = Divergence::forward_kl;
  double beta = 0.5;         // b of jsd, in (0, 1)
  double ce_weight = 0.0;    // w
  double temperature = 1.0;  // T

  /// Its logits are computed beside the student's, whose vocabulary it has. nullptr: the batch
  /// brings targets, which are p at temperature T.
  const LanguageModel* teacher = nullptr;
};

/// What a teacher says behind each of N tokens: a list of ids with their probabilities, and the
/// mass of all other ids. Lists of one token after the other; those of tokens without a target
/// are not looked at.
struct TeacherTargets {
  std::vector<std::int64_t> ends;  // [N] of each list, in ids
  std::vector<std::int64_t> ids;   // different ones in each list
  std::vector<float> log_probs;    // of ids, nats
  std::vector<float> tail_mass;    // [N] 0: the list is all that the teacher says
};

}  // namespace mgpu::lm
