#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/distillation.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens of a pass, D the teacher's width.
namespace mgpu::lm::grad {

/// StoredTargetLoss of a block.
///
/// Memory: nothing beside the block's logits. `how` and `targets` have to live as long as it.
BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets);

/// What a resident teacher says of a batch.
struct TeacherPass {
  const LanguageModel& model;
  at::Tensor hidden;                   // [N, D]
  std::span<const double> is_drawn{};  // [N] as kDrawnColumn, or empty
};

/// ResidentTeacherLoss of a block.
///
/// Memory: as many logits of the teacher as the block has. `how`, the model and `is_drawn` have to
///         live as long as it.
BlockLoss resident_loss(const Distillation& how, const TeacherPass& teacher);

}  // namespace mgpu::lm::grad
