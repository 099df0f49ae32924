#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// Throws Failure E124 (exit 78) about the configuration `file` of a stage. `sentence` states the
/// problem, and `help` says what to change.
[[noreturn]] void refuse_stage(const std::filesystem::path& file, std::string sentence,
                               std::string help);

/// Refuses a name in experiment.after or experiment.ranks that is not Stage::file_name of a stage.
/// `keys` and `config` are those of the experiment.
/// Errors: Failure E107 (exit 78).
void require_names(const ExperimentConfig& keys, const Config& config,
                   const std::vector<Stage>& stages);

/// Sets Stage::inputs and Stage::exports of the stages. Adds to Stage::after of each stage all
/// stages for which it must wait.
/// Ranks:  local.
/// Errors: Failure E124 (exit 78) for two stages with the same name or output, and for stages that
///         wait for each other in a cycle; those of find_rounds().
void find_order(const ExperimentConfig& keys, StageGraph& graph);

}  // namespace mgpu::jobs
