#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/second_model.hpp>

namespace mgpu::lm {

/// Chooses the candidate after which the first number of a second model's hidden state is largest.
class SecondOpinion final : public SecondModelProcessor {
public:
  /// `model` must outlive the processor.
  explicit SecondOpinion(const LanguageModel& model) : SecondModelProcessor(model, {64, 4}) {}

  std::int64_t candidates() const override { return 3; }

  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& /*logits*/) override {
    constexpr double kDecides = 1e4;  // more than logits differ
    return states_after(rows, ids).select(2, 0).mul(kDecides).contiguous();  // [N, K]
  }
};

}  // namespace mgpu::lm
