#pragma once

namespace mgpu::watch {

/// Installs a handler for the real-time signal that a watchdog sends to a thread. The thread that
/// gets the signal writes the crash file of this process. The file contains the thread's stack and
/// the text `what`. `what` must stay valid until forget_report_signal().
void take_report_signal(const char* what);
/// Restores the handler that was installed before take_report_signal().
void forget_report_signal();

/// Sends the signal of take_report_signal() to a thread of this process; `thread` is the thread's
/// id in Linux.
void send_report_signal(int thread);

}  // namespace mgpu::watch
