#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace mgpu::watch {

/// The state of a process, from the kernel.
struct ProcessInfo {
  char state = '?';              // R S D T t Z X, as in proc(5)
  std::uint64_t start_time = 0;  // clock ticks after boot; differs if a new process has the same
                                 // pid

  bool is_gone() const { return state == 'Z' || state == 'X'; }
};

/// Returns the state of a process; nullopt if it does not exist. Source: proc(5), /proc/[pid]/stat.
std::optional<ProcessInfo> process_info(int pid);

/// Returns a short text about what the kernel reports about a process: "stopped (state T), in
/// do_signal_stop".
std::string kernel_words(int pid);

/// Returns several lines about what the kernel reports about a process. The lines are the state,
/// threads, memory, pending signals and context switches from /proc/[pid]/status, and the files
/// wchan, syscall and stack. Lines and files that cannot be read are left out.
std::string kernel_report(int pid);

}  // namespace mgpu::watch
