#pragma once

#include <string>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// Runs the job of the configuration on all ranks, from the banner to the last line.
///
/// `elapsed_s`: how long this process has been running. `command`: argv.
/// Ranks:  collective over `world`.
/// Errors: all ranks know of CollectiveFailure and ConfigFailure. Any other exception is known to
/// this
///         rank only, and the caller has to end the world.
ExitCode run_world(const cluster::Group& world, const Options& options,
                   const std::vector<std::string>& command, double elapsed_s);

}  // namespace mgpu::app
