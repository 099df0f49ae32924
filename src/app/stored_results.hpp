#pragma once

#include <filesystem>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu::app {

/// Returns the configuration with which the run in `folder` was made, changed by the overlays and
/// overrides of `given`.
/// Ranks:  local.
/// Errors: Failure E609 (exit 66) if `folder` is not a run directory; those of load_config().
Config config_in(const std::filesystem::path& folder, const Options& given = {});

/// Returns the path of the result file of the run in `folder`. `config` must be the configuration
/// of that run.
/// Ranks:  local.
/// Errors: Failure E603 (exit 66) if the file is missing.
std::filesystem::path results_in(const std::filesystem::path& folder, const Config& config);

}  // namespace mgpu::app
