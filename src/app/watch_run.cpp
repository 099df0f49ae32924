#include "watch_run.hpp"

#include <string>

#include <mgpu/report/text_format.hpp>
#include <mgpu/watch/leftover_memory.hpp>

namespace mgpu::app {
namespace {

/// Spans of the run's PhaseClock to which watchdog.slow_limit_s applies instead of
/// watchdog.limit_s. In these spans a rank may show no progress for a long time, for example
/// because it reads or writes large files. The span `other` is work without a more specific name.
const std::vector<std::string> kSlowPhases = {"start-up", "load",    "tokenize",
                                              "other",    "results", "waiting for data",
                                              "seal",     "logging", "checkpoints"};

}  // namespace

std::unique_ptr<watch::Watchdog> watch_run(const watch::WatchConfig& config,
                                           const cluster::Topology& topology, RunFiles& files,
                                           const fs::path& run_directory) {
  const auto tell = [&](const std::string& text) {
    files.event({"debug", {{"text", "watchdog: " + text}}});
  };
  if (topology.node().rank() == 0 && watch::remove_leftover_memory() > 0)
    tell("removed shared memory that killed runs left in /dev/shm");
  if (!config.enabled) {
    tell("off (watchdog.enabled)");
    return nullptr;
  }
  const auto is_debugged = std::int32_t{watch::is_debugged() ? 1 : 0};
  if (topology.world().all_reduce(is_debugged, cluster::ReduceOp::max) == 1) {
    tell("off, for a debugger holds a rank");
    return nullptr;
  }
  tell("names a rank without a sign of progress for " + report::text_of("%.0f", config.limit_s) +
       " s");
  watch::Watchdog::Options options;
  options.limit_s = config.limit_s;
  options.slow_limit_s = config.slow_limit_s;
  options.slow_phases = kSlowPhases;
  options.directory = run_directory;
  return std::make_unique<watch::Watchdog>(topology, files.crash(), std::move(options));
}

}  // namespace mgpu::app
