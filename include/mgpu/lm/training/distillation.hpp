#pragma once

#include <cstdint>
#include <string_view>

#include <mgpu/lm/training/token_loss.hpp>

namespace mgpu::lm {

/// How to measure the distance between a student's distribution q and the teacher's distribution p,
/// in nats.
enum class Divergence {
  forward_kl,     // sum p log(p / q)
  reverse_kl,     // sum q log(q / p)
  jsd,            // b sum p log(p / m) + (1 - b) sum q log(q / m), m = b p + (1 - b) q
  cross_entropy,  // -sum p log q: forward_kl plus the entropy of p; an unbiased estimate of p gives
                  // an unbiased estimate of this sum
};

/// The settings of the loss of distillation. The loss at a token is (1 - w) T^2 divergence(p, q) +
/// w cross-entropy of the target. p and q are softmax(logits / T) of teacher and student. With
/// ResidentTeacherLoss, a target that the student sampled has no cross-entropy term (kDrawnColumn).
///
/// Source: Hinton et al., arXiv 1503.02531; JSD: Agarwal et al., arXiv 2306.13649, eq. 1.
struct Distillation {
  Divergence divergence = Divergence::forward_kl;
  double beta = 0.5;         // b of Divergence::jsd, in (0, 1)
  double ce_weight = 0.0;    // w, the weight of the cross-entropy
  double temperature = 1.0;  // T, by which logits are divided
};

/// The key of LmBatch::token_lists under which StoredTargetLoss finds the teacher's distributions.
/// They are the p of Distillation, at temperature Distillation::temperature.
inline constexpr const char* kTeacherLists = "teacher";

/// The name of an optional token column of ResidentTeacherLoss. A value of 1 means that the target
/// was sampled from the student, so the token's loss has no cross-entropy term.
inline constexpr const char* kDrawnColumn = "is_drawn";

/// Distillation from a teacher's stored distributions, LmBatch::token_lists[kTeacherLists]. At each
/// token, all ids that the token's list lacks form one additional class, which has the remaining
/// probability mass.
///
/// Memory: kPieces temporary tensors [HeadBlocks::rows, HeadBlocks::vocabulary_block].
class StoredTargetLoss final : public TokenLoss {
public:
  static constexpr std::int64_t kPieces = 4;

  explicit StoredTargetLoss(const Distillation& how) : how_(how) {}

  void check(const LmBatch& batch, const LmConfig& model) const override;
  PassLoss bind(const LmBatch& batch) const override;

private:
  Distillation how_;
};

/// Distillation over the whole vocabulary, from a teacher that runs in the same process as the
/// student. The two vocabularies may have different numbers of unused ids at their ends. The
/// divergence compares distributions over the ids that both vocabularies have.
///
/// Memory: the teacher's hidden states of a batch; one block of the teacher's logits, as large as a
///         block of the student's; and kPieces temporary tensors of the same size as those of
///         StoredTargetLoss.
class ResidentTeacherLoss final : public TokenLoss {
public:
  static constexpr std::int64_t kPieces = 11;

  /// `teacher` has to outlive this object. Teacher and student must use the same ids for the same
  /// tokens.
  ResidentTeacherLoss(const Distillation& how, const LanguageModel& teacher)
      : how_(how), teacher_(&teacher) {}

  void check(const LmBatch& batch, const LmConfig& model) const override;
  PassLoss bind(const LmBatch& batch) const override;
  std::string_view phase() const override { return "teacher"; }

private:
  Distillation how_;
  const LanguageModel* teacher_;
};

}  // namespace mgpu::lm
