#pragma once

#include <memory>

#include <mgpu/app/run_files.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/watch/watch_config.hpp>
#include <mgpu/watch/watchdog.hpp>

namespace mgpu::app {

/// If a watchdog runs, collectives time out this many seconds later (ClusterConfig::timeout_s).
/// With watchdog.limit_s=auto, the watchdog then reports a hang before a collective times out,
/// except in phases with watchdog.slow_limit_s. The report of the watchdog says more about the
/// cause than a timeout.
inline constexpr double kAfterWatchdogS = 5.0;

/// Starts the watchdog of a run and returns it. Returns null if watchdog.enabled is false, or if a
/// debugger is attached to a rank. First removes the shared memory that killed runs have left in
/// /dev/shm. Logs an event, shown with -v, that says whether the watchdog runs.
///
/// Ranks:  collective over the topology's world.
/// Errors: those of watch::Watchdog.
std::unique_ptr<watch::Watchdog> watch_run(const watch::WatchConfig& config,
                                           const cluster::Topology& topology, RunFiles& files,
                                           const fs::path& run_directory);

}  // namespace mgpu::app
