#pragma once

#include <memory>

#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/run/run_context.hpp>

#include "recipes/lm/data.hpp"
#include "recipes/lm/method.hpp"
#include "stored_targets.hpp"

namespace mgpu::recipes {

/// The teacher of a student: a model with a complete copy on each rank, or stored targets.
class LmTeacher final : public OpenMethod {
public:
  /// Opens the teacher. With stored targets, takes the places of the examples (StoredPlace) from
  /// `data`. With distill.on_policy above 0, moves the token ids that end completions
  /// (LmData::stop_ids) out of `data`.
  ///
  /// Ranks:  collective over the world.
  /// Errors: those of StoredTargets, store::require_inspected() and ModelGroup::open(), on all
  ///         ranks.
  LmTeacher(const run::RunContext& run, const DistillSettings& settings, LmData& data);

  const lm::TokenLoss& loss() const override { return *loss_; }
  lm::WindowSources sources() const override { return sources_; }

private:
  std::unique_ptr<StoredTargets> stored_;
  std::unique_ptr<lm::ModelGroup> resident_;
  std::unique_ptr<lm::TokenLoss> loss_;
  lm::WindowSources sources_;
};

}  // namespace mgpu::recipes
