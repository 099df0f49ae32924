#pragma once

namespace mgpu::watch {

/// From now on the thread that gets the report signal writes this process's crash file, with its
/// own stack and `what`, which has to stay.
void take_report_signal(const char* what);
void forget_report_signal();

/// Asks a thread of this process for it.
void send_report_signal(int thread);

}  // namespace mgpu::watch
