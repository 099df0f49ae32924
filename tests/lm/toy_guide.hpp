#pragma once

#include <cstdint>
#include <span>

#include <ATen/ATen.h>

#include <mgpu/lm/decode/second_model.hpp>

namespace mgpu::lm {

/// Computes offsets as a linear function of a second model's states, with operations whose bits do
/// not depend on the number of rows.
class ToyGuide : public SecondModelProcessor {
public:
  ToyGuide(const LanguageModel& model, const PagedCache::Sizes& sizes, std::int64_t candidates,
           double strength)
      : SecondModelProcessor(model, sizes), candidates_(candidates), strength_(strength) {}

  std::int64_t candidates() const override { return candidates_; }

  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& /*logits*/) override {
    ++calls;
    const at::Tensor after = states_after(rows, ids);
    return ((after.select(2, 0) - after.select(2, 1)) * strength_).contiguous();
  }

  int calls = 0;

private:
  std::int64_t candidates_;
  double strength_;
};

}  // namespace mgpu::lm
