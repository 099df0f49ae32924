#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/on_policy_texts.hpp>
#include <mgpu/train/objective.hpp>

namespace mgpu::lm {

/// What a teacher said of examples, wherever it is kept.
class TargetSource {
public:
  TargetSource() = default;
  TargetSource(const TargetSource&) = delete;
  TargetSource& operator=(const TargetSource&) = delete;
  virtual ~TargetSource() = default;

  /// Adds a list for each token of an example; that of a token whose target is ignored is empty.
  ///
  /// Shapes: targets as LmBatch has them, of the example's tokens
  virtual void append(std::size_t example, std::span<const std::int64_t> targets,
                      TeacherTargets& lists) = 0;
};

/// How a student is trained on what a teacher says. What is pointed to has to outlive the training.
struct LmDistillation {
  Distillation how;
  TargetSource* stored = nullptr;  // where how.teacher is nullptr

  /// Completions that the student draws itself; with how.teacher only. Nothing: none.
  std::optional<OnPolicyConfig> on_policy{};
};

/// Supervised training of a language model: cross-entropy of the learned tokens, or their distance
/// from a teacher's, each with equal weight over the global batch. An item is a window. Of texts
/// that the student draws, the tokens it drew are learned.
class LmObjective final : public train::Objective {
public:
  /// All references have to outlive this. `distillation` nullptr: there is no teacher.
  LmObjective(TrainableModel& model, const LmWindows& windows, PhaseClock& clock,
              const LmDistillation* distillation = nullptr);

  tensor::ParameterArena& parameters() override { return model_->parameters(); }
  bool makes_items() const override { return texts_.has_value(); }
  void prepare(std::uint64_t first, std::int64_t count) override;
  std::int64_t predictions(std::uint64_t first, std::int64_t count) const override;
  std::uint64_t epoch_size() const override { return windows_->size(); }
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

private:
  const OnPolicyTexts::Text* drawn(std::uint64_t ordinal, std::size_t example) const;
  void append(std::uint64_t ordinal, LmBatch& batch) const;

  TrainableModel* model_;
  const LmWindows* windows_;
  PhaseClock* clock_;
  const LmDistillation* distillation_;
  std::optional<OnPolicyTexts> texts_;
};

}  // namespace mgpu::lm
