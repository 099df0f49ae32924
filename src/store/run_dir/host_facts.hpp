#pragma once

#include <string>

namespace mgpu::store {

/// Returns an id that changes with each boot. Source: proc(5), /proc/sys/kernel/random/boot_id.
std::string boot_id();

/// Returns the start time of a process in clock ticks since boot; "" if the process does not exist
/// or is a zombie. The pid and the start time together identify a process. Source: proc(5),
/// /proc/PID/stat, fields 3 and 22.
std::string process_start(int pid);

/// Returns the current time in UTC, such as "2026-11-21T10:04:51Z".
std::string utc_now();

/// Returns the current local time as the name of a run directory, such as "2026-11-21_10-04-51".
std::string local_stamp();

}  // namespace mgpu::store
