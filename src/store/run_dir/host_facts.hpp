#pragma once

#include <string>

namespace mgpu::store {

/// Changes with each start of the machine. Source: proc(5), /proc/sys/kernel/random/boot_id.
std::string boot_id();

/// When the process began, in clock ticks since boot; "" when there is none or it is a zombie.
/// With the pid it names a process for good. Source: proc(5), /proc/PID/stat, fields 3 and 22.
std::string process_start(int pid);

/// "2026-11-21T10:04:51Z"
std::string utc_now();

/// "2026-11-21_10-04-51", local time: the name of a run directory.
std::string local_stamp();

}  // namespace mgpu::store
