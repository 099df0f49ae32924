#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/report/progress.hpp>
#include <mgpu/report/terminal.hpp>

namespace mgpu::report {

/// A text file to which lines are appended. Each line is one write. If the file does not end with a
/// newline, because an earlier process was killed during a write, the constructor appends one.
///
/// line() never throws, so that no rank fails alone in the middle of its work. After a first
/// failure, later lines are dropped, and check() throws that failure.
class LineFile {
public:
  /// Opens the file, and creates it if it is missing. `what` names the kind of file in messages and
  /// failpoints: "run log".
  /// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
  LineFile(const fs::path& path, const std::string& what);

  void line(std::string_view text) noexcept;

  /// Throws the first failure of line(). Call it on all ranks at the same point, inside
  /// run_together(), so that all ranks throw.
  void check() const;

private:
  DurableFile file_;
  std::exception_ptr failure_;
};

/// Writes text to stdout (`out`) and stderr (`err`). Tests replace both, to capture the text.
struct Output {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;

  /// Returns an Output that writes to file descriptors 1 and 2. It ignores errors, such as those of
  /// a closed pipe.
  static Output real();
};

enum class Verbosity { quiet, normal, verbose };

/// Writes the events and texts of rank 0. Events go to events.jsonl, and as lines of text to
/// run.log. Texts go to run.log. Options select what the screen shows.
///
/// An event reports progress if position_of() returns a value for it. Such an event may come in
/// every iteration of a loop. The screen redraws the progress bar at most five times a second. File
/// run.log gets a line after 1, 2, 5, 10 and 30 s, then each minute, and at the end of the loop.
/// File events.jsonl gets the first and the last event of the loop, and at most one event a second
/// in between.
///
/// Only one thread may use an EventLog.
class EventLog : public EventSink {
public:
  struct Options {
    fs::path events_file;  // "" for none
    fs::path run_log;      // "" for none
    Verbosity verbosity = Verbosity::normal;
    bool json = false;  // true: events go to stdout, and text for people to stderr
    ProgressMode progress = ProgressMode::automatic;
    double record_every_s = 1.0;  // least time between two events of a loop in events.jsonl
  };

  /// Opens the files of `options`.
  /// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
  EventLog(const Options& options, const Terminal& terminal, Output output = Output::real(),
           ReportClock clock = ReportClock::real());

  /// Writes the event to the files and the screen. A failed write, such as on a full disk, is not
  /// thrown here but by check(). Event "debug" is dropped without -v.
  /// Errors: those of event_json(), which are bugs of the program.
  void event(const Event& event) override;

  /// Writes text of several lines, such as the banner, to run.log, and without -q also to the
  /// screen. Removes the progress bar if one is visible.
  void print(std::string_view text);

  /// Prints text on the screen if -q is set, and does nothing otherwise. The text is not written to
  /// run.log, because run.log has the same content in another form.
  void print_if_quiet(std::string_view text);

  /// Prints the last line of a run, even with -q, and writes it to run.log.
  void print_last_line(std::string_view line);

  /// Throws the first failure to write events.jsonl or run.log. Call it on all ranks at the same
  /// point, inside run_together(), so that all ranks throw.
  void check() const;

private:
  /// Event::word of a loop's events, and their field `session`; "" for a run without sessions.
  using LoopName = std::pair<std::string, std::string>;

  static LoopName name_of(const Event& event);
  void record(const Event& event, double now_s);
  void progress(const Event& event, const Position& at, double now_s);
  void log_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void draw_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void print_event(const Event& event);
  void print_text(std::string_view text);
  std::string colored(const Event& event, std::string line) const;

  /// A loop that is running. Its events report progress. Events of different loops may come in any
  /// order.
  struct Loop {
    std::int64_t total = 0;
    ProgressMeter meter;
    LineSchedule schedule;
    double recorded_s = 0.0;
  };

  Options options_;
  Terminal terminal_;
  ProgressMode mode_;
  Output output_;
  ReportClock clock_;
  std::optional<LineFile> events_;
  std::optional<LineFile> run_log_;
  ProgressBar bar_;
  std::map<LoopName, Loop> loops_;  // running loops
};

}  // namespace mgpu::report
