#pragma once

#include <string>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// Runs the job of the configuration on all ranks, from the banner to the last line. Returns the
/// run's exit code.
///
/// `elapsed_s`: for how many seconds this process has been running. `command`: argv.
/// Ranks:  collective over `world`.
/// Errors: CollectiveFailure and ConfigFailure are thrown on all ranks. Any other exception may
///         leave other ranks waiting, so the caller has to call abort_world().
ExitCode run_world(const cluster::Group& world, const Options& options,
                   const std::vector<std::string>& command, double elapsed_s);

}  // namespace mgpu::app
