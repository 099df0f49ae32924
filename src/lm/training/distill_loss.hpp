#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/distillation.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens of a pass, D the teacher's width.
namespace mgpu::lm::grad {

/// The loss of Distillation with targets that the batch brings. Ids that no list has are one class
/// more, of the mass that is left.
///
/// Memory: nothing beside the block's logits. `how` and `targets` have to live as long as it.
BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets);

/// The loss of Distillation over the whole vocabulary; hidden [N, D] are the teacher's states.
/// Tokens with is_drawn 1, [N] or empty, have no cross-entropy.
///
/// Memory: as many logits of the teacher as the block has. `how` and `is_drawn` have to live as
///         long as it.
BlockLoss resident_loss(const Distillation& how, const at::Tensor& hidden,
                        std::span<const std::uint8_t> is_drawn = {});

}  // namespace mgpu::lm::grad
