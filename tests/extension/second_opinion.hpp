#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/second_model.hpp>

namespace mgpu::lm {

/// Prefers candidates after which a second model's first hidden state is large.
class SecondOpinion final : public SecondModelProcessor {
public:
  /// `model` must outlive the processor.
  explicit SecondOpinion(const LanguageModel& model) : SecondModelProcessor(model, {64, 4}) {}

  std::int64_t candidates() const override { return 3; }

  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& /*logits*/) override {
    return states_after(rows, ids).select(2, 0).contiguous();  // [N, K]
  }
};

}  // namespace mgpu::lm
