#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::watch {

/// The keys watchdog.*.
struct WatchConfig {
  bool enabled = true;
  double limit_s = 300.0;        // allowed time without progress
  double slow_limit_s = 1800.0;  // allowed time in phases that use large files
};

void add_watch_keys(KeyTable& table);

/// Reads the watchdog's keys, and comm.timeout_s. Errors: Failure of Config
WatchConfig read_watch_config(const Config& config);

}  // namespace mgpu::watch
