#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "attention.hpp"
#include "rope.hpp"

namespace mgpu::lm {

/// Where the next tokens of sequences stand that grow by one token in each step. All of it lies on
/// the device before the first step begins, for lengths are known without the tokens.
class StepPlan {
public:
  /// Makes room in the cache for all steps.
  /// Errors: ShapeError when learned positions or the cache's pages are too few; the cache may have
  ///         room for some of the sequences then.
  StepPlan(const LmConfig& config, std::span<const std::int64_t> sequences, std::int64_t steps,
           PagedCache& cache, const at::Tensor& like);

  const TokenPlaces& places(std::int64_t step) const { return at(step).places; }
  const Rotation& rotation(std::int64_t step) const { return at(step).rotation; }

private:
  struct Step {
    TokenPlaces places;
    Rotation rotation;  // undefined with learned positions
  };

  const Step& at(std::int64_t step) const { return steps_[static_cast<std::size_t>(step)]; }

  std::vector<Step> steps_;
};

}  // namespace mgpu::lm
