#pragma once

namespace mgpu::watch {

/// Installs the handler of the report signal. The thread that gets the signal writes the crash file
/// of this process with its stack and `what`, which must stay valid.
void take_report_signal(const char* what);
void forget_report_signal();

/// Sends the signal to a thread of this process.
void send_report_signal(int thread);

}  // namespace mgpu::watch
