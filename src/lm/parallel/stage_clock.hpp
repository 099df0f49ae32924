#pragma once

#include <chrono>

#include <mgpu/lm/parallel/stage_times.hpp>

namespace mgpu::lm {

/// Tells work from waiting.
class StageClock {
public:
  StageClock() { start(); }

  /// Forgets what was before.
  void start();

  /// Runs `step`, whose time is waiting.
  template <class Step>
  void waiting(Step step) {
    stop_work();
    step();
    begin_work();
  }

  /// What was worked since the last call was one pass.
  void end_pass();

  /// Up to the last wait or pass.
  const StageTimes& times() const { return times_; }

private:
  using Clock = std::chrono::steady_clock;

  void stop_work();
  void begin_work();

  StageTimes times_;
  Clock::time_point mark_;  // since then it works, or waits
  double cpu_mark_ = 0.0;
  double pass_s_ = 0.0;
};

}  // namespace mgpu::lm
