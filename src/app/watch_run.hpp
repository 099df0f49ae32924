#pragma once

#include <memory>

#include <mgpu/app/run_files.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/watch/watch_config.hpp>
#include <mgpu/watch/watchdog.hpp>

namespace mgpu::app {

/// A communicator gives up a call this much later than the watchdog, which knows more about the
/// cause.
inline constexpr double kAfterWatchdogS = 5.0;

/// Returns the watchdog of a run; null if it is switched off or a debugger holds a rank. With -v a
/// note says whether the watchdog runs.
///
/// Ranks:  collective over the topology's world. Errors: those of watch::Watchdog.
std::unique_ptr<watch::Watchdog> watch_run(const watch::WatchConfig& config,
                                           const cluster::Topology& topology, RunFiles& files,
                                           const fs::path& run_directory);

}  // namespace mgpu::app
