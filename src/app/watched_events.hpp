#pragma once

#include <mgpu/base/error.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/report/event_line.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::app {

/// Passes events on to `files`. Records whether the run has made progress. Points the link `latest`
/// to the run directory when the run saves a checkpoint.
class WatchedEvents final : public EventSink {
public:
  WatchedEvents(EventSink& files, store::RunDirectory& directory)
      : files_(files), directory_(directory) {}

  void event(const Event& event) override {
    files_.event(event);
    if (report::position_of(event)) set_begun();
    if (event.word == "save") directory_.point_latest();
  }

  /// Records that the run directory must be kept if the run fails.
  void set_begun() { has_begun_ = true; }

  /// Returns whether event() has passed on a progress report (an event with a report::Position), or
  /// set_begun() was called.
  bool has_begun() const { return has_begun_; }

private:
  EventSink& files_;
  store::RunDirectory& directory_;
  bool has_begun_ = false;
};

/// Returns whether failures with this exit code are due to the user's input or to the machine. The
/// error report of such a failure is complete: logs in the run directory have no more information.
constexpr bool explains_itself(ExitCode exit) {
  switch (exit) {
    case ExitCode::usage:
    case ExitCode::data:
    case ExitCode::no_input:
    case ExitCode::unavailable:
    case ExitCode::config:
    case ExitCode::corrupt:
      return true;
    default:
      return false;
  }
}

}  // namespace mgpu::app
