#pragma once

namespace mgpu::app {

/// Returns the seconds since this process was started, including the time to load its libraries; 0
/// if /proc does not provide it.
double process_elapsed_s();

}  // namespace mgpu::app
