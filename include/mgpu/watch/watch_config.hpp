#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::watch {

/// The values of the keys watchdog.*.
struct WatchConfig {
  bool enabled = true;
  double limit_s = 300.0;        // allowed time without progress
  double slow_limit_s = 1800.0;  // allowed time in the phases Watchdog::Options::slow_phases
};

void add_watch_keys(KeyTable& table);

/// Returns the values of the keys watchdog.*. If watchdog.limit_s is `auto`, limit_s gets the value
/// of comm.timeout_s. If watchdog.slow_limit_s is below limit_s, slow_limit_s gets the value of
/// limit_s.
///
/// Errors: those of Config's getters.
WatchConfig read_watch_config(const Config& config);

}  // namespace mgpu::watch
