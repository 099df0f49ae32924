#include "watcher.hpp"

namespace mgpu::watch {

Watchdog::Watchdog(const cluster::Topology& topology, CrashFile& crash, Options options)
    : watcher_(std::make_unique<Watcher>(topology, crash, std::move(options))) {}

Watchdog::~Watchdog() = default;

}  // namespace mgpu::watch
