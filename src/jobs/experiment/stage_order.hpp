#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// Throws Failure E124 (exit 78) about the configuration of a stage. `help` says what to change.
[[noreturn]] void refuse_stage(const std::filesystem::path& file, std::string sentence,
                               std::string help);

/// Refuses a name in experiment.after or experiment.ranks that is no stage. `config` is the
/// configuration of the experiment. Errors: Failure (exit 78) E107.
void require_names(const Config& config, const std::vector<Stage>& stages);

/// Sets Stage::inputs and Stage::exports of the stages, and adds to Stage::after all stages for
/// which each stage must wait. Local.
/// Errors: those of refuse_stage() for two stages with one name or output, and for a cycle.
void find_order(const ExperimentConfig& keys, StageGraph& graph);

}  // namespace mgpu::jobs
