#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mgpu::watch {

/// A process as the kernel sees it.
struct ProcessSight {
  char state = '?';              // R S D T t Z X, as in proc(5)
  std::uint64_t start_time = 0;  // clock ticks after boot: tells a new process of the same number

  bool is_gone() const { return state == 'Z' || state == 'X'; }
};

/// Nothing where there is no such process. Source: proc(5), /proc/[pid]/stat.
std::optional<ProcessSight> look_at(int pid);

/// "stopped (state T), in do_signal_stop".
std::string kernel_words(int pid);

/// Several lines: state, threads, memory, and what the kernel tells of its stack.
std::string kernel_report(int pid);

}  // namespace mgpu::watch
