#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/distillation.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens of a pass, D the teacher's width.
namespace mgpu::lm::grad {

/// Returns the function that computes StoredTargetLoss for one block of tokens.
///
/// Memory: see StoredTargetLoss. `how` and `targets` have to outlive the result.
BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets);

/// The result of a forward pass of a teacher over a batch. The teacher is in the same process.
struct TeacherPass {
  const LanguageModel& model;
  at::Tensor hidden;                   // [N, D]
  std::span<const double> is_drawn{};  // [N] the column kDrawnColumn; empty: no such column
};

/// Returns the function that computes ResidentTeacherLoss for one block of tokens.
///
/// Memory: see ResidentTeacherLoss. `how`, `teacher.model` and `teacher.is_drawn` have to outlive
///         the result.
BlockLoss resident_loss(const Distillation& how, const TeacherPass& teacher);

}  // namespace mgpu::lm::grad
