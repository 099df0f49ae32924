#pragma once

#include <string>

namespace mgpu::store {

/// An id that changes with each boot. Source: proc(5), /proc/sys/kernel/random/boot_id.
std::string boot_id();

/// The start time of a process in clock ticks since boot; "" if it does not exist or is a zombie.
/// Together with the pid it identifies a process. Source: proc(5), /proc/PID/stat, fields 3 and 22.
std::string process_start(int pid);

/// "2026-11-21T10:04:51Z"
std::string utc_now();

/// "2026-11-21_10-04-51", local time: the name of a run directory.
std::string local_stamp();

}  // namespace mgpu::store
