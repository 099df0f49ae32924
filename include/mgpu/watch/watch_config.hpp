#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::watch {

/// The keys watchdog.*.
struct WatchConfig {
  bool enabled = true;
  double limit_s = 300.0;        // without a sign of progress
  double slow_limit_s = 1800.0;  // in phases that read or write large files
};

void add_watch_keys(KeyTable& table);

/// Needs the key comm.timeout_s, too.
WatchConfig read_watch_config(const Config& config);

}  // namespace mgpu::watch
