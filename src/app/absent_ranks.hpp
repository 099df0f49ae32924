#pragma once

#include <chrono>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::app {

/// The state of a rank that stops waiting for another rank in a collective.
struct Waiting {
  const CrashFile& crash;  // already written
  std::chrono::system_clock::time_point started;
  double timeout_s = 0.0;
};

/// Adds a line to the report of a timeout for each absent rank. Waiting ranks write their crash
/// files at about the same time, so a rank without a crash file is absent.
///
/// The call returns first on the lowest waiting rank, and later on the others, so that only one
/// prints.
/// Ranks:   local, on each rank that waits.
ErrorReport name_absent_ranks(ErrorReport report, const cluster::Topology& topology,
                              const Waiting& waiting);

}  // namespace mgpu::app
