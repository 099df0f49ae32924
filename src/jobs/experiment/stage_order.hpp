#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "stages.hpp"

namespace mgpu::jobs {

/// Throws Failure E124 (exit 78) about the configuration of a stage. `help`: something to change.
[[noreturn]] void refuse_stage(const std::filesystem::path& file, std::string sentence,
                               std::string help);

/// Sets inputs, `after` and exports of all stages. Local.
/// Errors: those of refuse_stage() for two stages with one output, and for a cycle.
void find_order(const ExperimentConfig& keys, std::vector<Stage>& stages);

}  // namespace mgpu::jobs
