#pragma once

#include <array>

#include <mgpu/base/error_page.hpp>

namespace mgpu::watch {

/// Error codes of the watchdog.
inline constexpr auto kWatchErrors = std::to_array<ErrorPage>({
    {"E401", "a rank or a node died",
     "A process of the run was killed, ran out of memory or crashed, or its node was lost. The "
     "message names its last position.",
     "Look for its report in crash/ and, for a killed process, in the system's log (out of "
     "memory?). The same command resumes the run."},
    {"E405", "a rank hangs",
     "A rank has shown no sign of progress for longer than watchdog.limit_s, or than "
     "watchdog.slow_limit_s while it loads or writes large files. The message names the rank that "
     "holds the others up, what it did last, and what its process does now.",
     "hang_report.txt in the run directory shows what all ranks did, and crash/ has their stacks. "
     "A process that waits for a disk points to the file system. The same command resumes the run. "
     "A larger watchdog.limit_s waits longer, and watchdog.enabled=false waits forever."},
});

}  // namespace mgpu::watch
