#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::app {

/// Returns the configuration with which the run in `folder` was made, changed by the overlays and
/// overrides of `given`. For a run of format 1, which older versions wrote, output.keep_columns
/// becomes an empty list.
/// Ranks:  collective over `world`.
/// Errors: those of load_config() and store::format_of_run(), on all ranks.
Config config_of_run(const cluster::Group& world, const std::filesystem::path& folder,
                     const Options& given = {});

/// Returns the text that --merge prints about the merged result file. If `is_finished` is false,
/// the text also says how to resume the run.
std::string merge_text(const run::MergedRun& merged, const std::filesystem::path& results,
                       bool is_finished);

/// Writes run.h5 with the table of the attempts of the run, unless the file exists.
/// Ranks:  collective over `world`.
void record_attempts(const cluster::Group& world, const store::RunDirectory& directory,
                     const Config& config);

/// Runs --merge DIR DIR ..., and returns the exit code; see merge_run().
/// Ranks:  collective over `world`.
ExitCode merge_parts(const cluster::Group& world, const Options& options);

}  // namespace mgpu::app
