#pragma once

namespace mgpu::app {

/// Seconds since this process was started, including the time to load its libraries; 0 where /proc
/// does not tell.
double process_elapsed_s();

}  // namespace mgpu::app
