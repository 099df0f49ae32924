#pragma once

#include <memory>

#include <mgpu/app/run_files.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/watch/watch_config.hpp>
#include <mgpu/watch/watchdog.hpp>

namespace mgpu::app {

/// If a watchdog runs, the time limit of a communicator's calls is longer by this many seconds. So
/// the watchdog reports a hang first, and its report says more about the cause.
inline constexpr double kAfterWatchdogS = 5.0;

/// Starts the watchdog of a run and returns it; null if it is switched off or a debugger holds a
/// rank. Before that, removes shared memory that killed runs have left. With -v it prints whether
/// the watchdog runs.
///
/// Ranks:  collective over the topology's world.
/// Errors: those of watch::Watchdog.
std::unique_ptr<watch::Watchdog> watch_run(const watch::WatchConfig& config,
                                           const cluster::Topology& topology, RunFiles& files,
                                           const fs::path& run_directory);

}  // namespace mgpu::app
