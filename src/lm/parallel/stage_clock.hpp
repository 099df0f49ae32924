#pragma once

#include <chrono>

#include <mgpu/lm/parallel/stage_times.hpp>

namespace mgpu::lm {

/// Measures how long this rank works, and how long it waits for other ranks.
class StageClock {
public:
  StageClock() { start(); }

  /// Sets all times to zero, and starts to count working time.
  void start();

  /// Runs `step` and counts its time as waiting.
  template <class Step>
  void waiting(Step step) {
    stop_work();
    step();
    begin_work();
  }

  /// Ends a pass. Appends the CPU time that this thread has used since the last end_pass() or
  /// start() to StageTimes::passes. The CPU time in waiting() does not count.
  void end_pass();

  /// Returns the times up to the end of the last waiting() or end_pass().
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
