#include "stage_clock.hpp"

#include <ctime>
#include <utility>

namespace mgpu::lm {
namespace {

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void StageClock::start() {
  times_ = {};
  pass_s_ = 0.0;
  mark_ = Clock::now();
  cpu_mark_ = thread_cpu_s();
}

void StageClock::stop_work() {
  const Clock::time_point now = Clock::now();
  times_.busy_s += seconds(now - mark_);
  mark_ = now;
  pass_s_ += thread_cpu_s() - cpu_mark_;
}

void StageClock::begin_work() {
  const Clock::time_point now = Clock::now();
  times_.waiting_s += seconds(now - mark_);
  mark_ = now;
  cpu_mark_ = thread_cpu_s();
}

void StageClock::end_pass() {
  stop_work();
  begin_work();
  times_.passes.push_back(std::exchange(pass_s_, 0.0));
}

}  // namespace mgpu::lm
