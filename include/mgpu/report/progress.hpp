#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/sinks.hpp>
#include <mgpu/report/event_line.hpp>
#include <mgpu/report/terminal.hpp>

namespace mgpu::report {

/// The two clocks that progress lines and logs read; tests replace them.
struct ReportClock {
  std::function<double()> elapsed_s;  // seconds since the program began, from a steady clock
  std::function<std::chrono::system_clock::time_point()> utc;  // date and time

  /// Returns clocks that show the real time. `elapsed_s`: seconds since the program began.
  static ReportClock real(double elapsed_s = 0.0);
};

/// Estimates the speed and the remaining time of a loop from its progress in the last minute. The
/// first update() only sets the start. So the work of earlier attempts does not count in a resumed
/// run.
class ProgressMeter {
public:
  void update(std::int64_t done, double now_s);

  /// Returns steps or samples per second; nullopt until there were two calls of update() at least
  /// 0.2 s apart.
  std::optional<double> rate() const;

  /// Returns the seconds until the loop reaches `total` steps or samples at the present rate;
  /// nullopt if rate() is nullopt or 0.
  std::optional<double> eta_s(std::int64_t total) const;

private:
  struct Mark {
    double now_s;
    std::int64_t done;
  };
  std::deque<Mark> marks_;
};

/// Schedules the progress lines of a log: 1, 2, 5, 10, 30 s after the start, then each minute.
class LineSchedule {
public:
  explicit LineSchedule(double start_s) : start_s_(start_s) {}

  /// Returns whether a line is due. If so, the schedule advances to the next time.
  bool due(double now_s);

private:
  double start_s_;
  double next_s_ = 1.0;
};

/// Formats the remaining time of a loop as "52:50", or "0:52:50" for a log. Beyond 24 h, it formats
/// the time at which the loop ends: "2026-11-22T12:00Z".
std::string eta_text(double eta_s, std::chrono::system_clock::time_point now, bool for_log);

/// Formats progress as one line for a screen that is `terminal.columns` characters wide. If the
/// line is too long, the bar shrinks first, then fields are dropped from the right. The first field
/// always stays. If there is still no room, the bar is left out. `rate`: a result of
/// ProgressMeter::rate(). `eta`: a result of eta_text(), or "".
std::string bar_text(const Event& event, const Position& at, std::optional<double> rate,
                     const std::string& eta, const Terminal& terminal);

/// A progress bar in the last line of the screen, redrawn at most five times a second.
class ProgressBar {
public:
  explicit ProgressBar(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

  /// Returns whether draw() would draw now. If not, the caller need not format the text.
  bool ready(double now_s) const { return now_s - drawn_s_ >= kRedraw_s; }

  void draw(std::string text, double now_s);
  /// Draws the final bar and leaves it on the screen.
  void finish(std::string text, double now_s);

  /// Hides the bar for a moment, so that a line can be printed; restore() brings it back.
  void clear();
  void restore();
  /// Hides the bar until it is drawn again.
  void remove();
  bool visible() const { return !text_.empty(); }

private:
  static constexpr double kRedraw_s = 0.2;

  std::function<void(std::string_view)> write_;
  std::string text_;
  double drawn_s_ = -std::numeric_limits<double>::infinity();
};

}  // namespace mgpu::report
