#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/run/run_context.hpp>

#include "recipes/lm/data.hpp"
#include "recipes/lm/keys.hpp"
#include "stored_targets.hpp"

namespace mgpu::recipes {

/// Refuses a teacher whose tokens differ from the student's. For a folder, vocabulary and
/// tokenizer.json must agree. For stored targets, the vocabulary must agree, and StoredTargets must
/// accept them. Local.
///
/// Errors: ConfigFailure E107 (exit 78); Failure E603 (exit 66), those of read_lm_config() and
///         StoredTargets.
void check_teacher_files_of(const Config& config, const LmTrainSettings& settings);

/// The teacher of a student: a model that each rank holds completely, or stored targets.
class LmTeacher {
public:
  /// Takes from `data` the positions of stored targets and the stop ids of completions.
  ///
  /// Ranks:  collective over the world.
  /// Errors: those of StoredTargets and ModelGroup::open(), on all ranks.
  LmTeacher(const run::RunContext& run, const DistillSettings& settings, LmData& data);

  const lm::TokenLoss& loss() const { return *loss_; }
  const lm::WindowSources& sources() const { return sources_; }

private:
  std::unique_ptr<StoredTargets> stored_;
  std::unique_ptr<lm::ModelGroup> resident_;
  std::unique_ptr<lm::TokenLoss> loss_;
  lm::WindowSources sources_;
};

}  // namespace mgpu::recipes
