#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "attention.hpp"
#include "rope.hpp"

namespace mgpu::lm {

/// Positions and cache slots for the next steps of sequences that grow by one token per step. All
/// of them are on the device before the first step, because they do not depend on the drawn tokens.
class StepPlan {
public:
  /// Reserves room in the cache for all steps.
  /// Errors: ShapeError when there are too few learned positions or free pages; some of the
  ///         sequences may already be extended.
  StepPlan(const LmConfig& config, std::span<const std::int64_t> sequences, std::int64_t steps,
           PagedCache& cache, const at::Tensor& like);

  const AttentionIndex& index(std::int64_t step) const { return at(step).index; }
  const Rotation& rotation(std::int64_t step) const { return at(step).rotation; }

private:
  struct Step {
    AttentionIndex index;
    Rotation rotation;  // undefined with learned positions
  };

  const Step& at(std::int64_t step) const { return steps_[static_cast<std::size_t>(step)]; }

  std::vector<Step> steps_;
};

}  // namespace mgpu::lm
