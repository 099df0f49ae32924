#pragma once

#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/distillation.hpp>

#include "grad_head.hpp"

// In this header, N is the number of tokens of a batch, and D is the teacher's width.
namespace mgpu::lm::grad {

/// Returns the function that computes StoredTargetLoss, the loss of distillation from a teacher's
/// stored distributions, for one HeadBlock.
///
/// Memory: see StoredTargetLoss. `how` and `targets` have to outlive the result.
BlockLoss stored_loss(const Distillation& how, const TeacherTargets& targets);

/// The result of a teacher's forward pass over a batch, for a teacher in the same process.
struct TeacherPass {
  const LanguageModel& model;
  at::Tensor hidden;                   // [N, D] hidden states before the vocabulary head
  std::span<const double> is_drawn{};  // [N] kDrawnColumn: 1 if the student sampled
                                       // the target, else 0; empty: no such column
};

/// Returns the function that computes ResidentTeacherLoss, the loss of distillation from a teacher
/// in the same process, for one HeadBlock.
///
/// Memory: see ResidentTeacherLoss. `how`, `teacher.model` and `teacher.is_drawn` have to outlive
///         the result.
BlockLoss resident_loss(const Distillation& how, const TeacherPass& teacher);

}  // namespace mgpu::lm::grad
