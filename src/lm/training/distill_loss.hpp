#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/distillation.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens of a pass, D the teacher's width.
namespace mgpu::lm::grad {

/// Returns the function that computes the StoredTargetLoss of a block.
///
/// Memory: the block's logits only. `how` and `targets` have to outlive the result.
BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets);

/// The results of a resident teacher for a batch.
struct TeacherPass {
  const LanguageModel& model;
  at::Tensor hidden;                   // [N, D]
  std::span<const double> is_drawn{};  // [N] as kDrawnColumn, or empty
};

/// Returns the function that computes the ResidentTeacherLoss of a block.
///
/// Memory: as many logits of the teacher as the block has. `how`, the model and `is_drawn` have to
///         outlive the result.
BlockLoss resident_loss(const Distillation& how, const TeacherPass& teacher);

}  // namespace mgpu::lm::grad
