#pragma once

#include <chrono>

#include <mgpu/lm/parallel/stage_times.hpp>

namespace mgpu::lm {

/// Measures working and waiting time separately.
class StageClock {
public:
  StageClock() { start(); }

  /// Resets the times.
  void start();

  /// Runs `step` and counts its time as waiting.
  template <class Step>
  void waiting(Step step) {
    stop_work();
    step();
    begin_work();
  }

  /// Ends a pass, and records the CPU time since the last call, without waiting.
  void end_pass();

  /// Returns the times up to the end of the last wait or pass.
  const StageTimes& times() const { return times_; }

private:
  using Clock = std::chrono::steady_clock;

  void stop_work();
  void begin_work();

  StageTimes times_;
  Clock::time_point mark_;  // start of the current work or wait
  double cpu_mark_ = 0.0;
  double pass_s_ = 0.0;
};

}  // namespace mgpu::lm
