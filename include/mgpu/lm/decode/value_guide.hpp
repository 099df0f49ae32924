#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/value_head.hpp>
#include <mgpu/lm/decode/offset_record.hpp>
#include <mgpu/lm/decode/second_model.hpp>
#include <mgpu/lm/forward/value_model.hpp>

// Shapes in this header: N = rows of a draw, K = candidates, O = outputs of the value head.
namespace mgpu::lm {

/// How the outputs of a value model become offsets of logits. R is the return of a completion. V is
/// the value model's output after a candidate token. As in the papers, the guided policy maximizes
/// E[R] - eta KL(policy || reference), so a small eta guides strongly. The reference is the model
/// that generates, without offsets.
enum class GuideKind : std::uint8_t {
  pita,    // V / eta, where V is a logit or a score. Bobbili et al., arXiv 2507.20067
  qsharp,  // log E[exp(R / eta)] over the distribution of R. Zhou et al., arXiv 2502.20548
  cd,      // E[R] / eta. Mudgal et al., arXiv 2310.17022
};

/// Returns "pita", "qsharp" or "cd".
const char* name_of(GuideKind kind);

struct GuideSettings {
  GuideKind kind = GuideKind::qsharp;
  double eta = 1.0;              // > 0
  std::int64_t candidates = 20;  // K, the number of most probable tokens whose logits change

  /// Bounds of the odds exp(V), where V is the logit of a Bernoulli head; pita only. The published
  /// code of pita has the bounds 0.01 and 0.99.
  double min_odds = 0.0;
  double max_odds = std::numeric_limits<double>::infinity();

  bool clamps_odds() const {
    return min_odds > 0.0 || max_odds < std::numeric_limits<double>::infinity();
  }
};

/// Returns why the settings do not fit a head, or nullptr if they fit. The reason is a phrase such
/// as "pita needs a logit or a score, and the head `histogram` has a distribution".
const char* why_unfit(const GuideSettings& settings, ValueKind head);

/// Returns the offset of one candidate's logit, before the division by the temperature. It is
/// computed in double precision, without overflow for any finite outputs.
///
/// Shapes: outputs [O], of a head that fits the settings
double guide_offset(const GuideSettings& settings, const ValueHead& head,
                    std::span<const double> outputs);

/// Guides generation with a value model. One pass of the value model computes its outputs after
/// each of the K most probable tokens of a draw. The outputs give offsets for the logits of the K
/// tokens, see guide_offset(). All other logits keep their bits.
class ValueGuide final : public SecondModelProcessor {
public:
  /// `model` has to outlive the guide. Errors: Error when the settings do not fit the head, or a
  /// setting is out of range.
  ValueGuide(const ValueModel& model, const GuideSettings& settings);

  /// Keeps the offsets of all later draws in `record`, which has to outlive the guide.
  void keep_offsets(OffsetRecord& record) { record_ = &record; }

  std::int64_t candidates() const override { return settings_.candidates; }
  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& logits) override;

private:
  const ValueModel* values_;
  GuideSettings settings_;
  OffsetRecord* record_ = nullptr;  // nullptr: offsets are not kept
};

}  // namespace mgpu::lm
