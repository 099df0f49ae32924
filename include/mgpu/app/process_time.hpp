#pragma once

namespace mgpu::app {

/// Seconds since this process was started, the loading of its libraries included; 0 where /proc
/// does not tell.
double process_elapsed_s();

}  // namespace mgpu::app
