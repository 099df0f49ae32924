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

/// Positions, rotations and cache slots for the next steps of sequences that grow by one token per
/// step. A plan does not depend on the drawn tokens, so all its tensors are sent to the device
/// before the first step.
class StepPlan {
public:
  /// Extends the sequences in the cache by `steps` tokens. The tensors of the plan are on the
  /// device of `like`.
  /// Errors: ShapeError when there are too few learned positions or too few free pages. In the
  ///         second case, some of the sequences may already have been extended.
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
