#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/report/progress.hpp>
#include <mgpu/report/terminal.hpp>

namespace mgpu::report {

/// A text file that grows by lines and outlives kills: one write per line, and a torn last line
/// of an earlier attempt is ended before the first new one.
///
/// line() never throws, because one rank may not fail alone in the middle of its work: the first
/// failure is kept, later lines are dropped, and check() reports it.
class LineFile {
public:
  /// `what` as of DurableFile. Errors: Failure E601, E602.
  LineFile(const fs::path& path, const std::string& what);

  void line(std::string_view text) noexcept;

  /// Rethrows what line() met. Call it where all ranks meet, inside run_together.
  void check() const;

private:
  DurableFile file_;
  std::exception_ptr failure_;
};

/// Where a person's and a program's text go; tests catch both.
struct Output {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;

  /// File descriptors 1 and 2; a reader that has gone away is ignored.
  static Output real();
};

enum class Verbosity { quiet, normal, verbose };

/// What rank 0 says: events to events.jsonl, lines to run.log, and both to the screen as asked.
///
/// An event with a `total` is progress. It may come as often as the loop turns: the bar is drawn
/// at most five times a second, a line is written at 1, 2, 5, 10, 30 s and then each minute, and
/// at most one a second is recorded in events.jsonl, besides the first and the last. One thread.
class EventLog : public EventSink {
public:
  struct Options {
    fs::path events_file;  // "" for none
    fs::path run_log;      // "" for none
    Verbosity verbosity = Verbosity::normal;
    bool json = false;  // events to stdout; what a person reads goes to stderr then
    ProgressMode progress = ProgressMode::automatic;
    double record_every_s = 1.0;
  };

  /// Errors: Failure E601, E602 from the two files.
  EventLog(const Options& options, const Terminal& terminal, Output output = Output::real(),
           ReportClock clock = ReportClock::real());

  /// Never throws for a full disk: see check(). Word "debug" is heard with -v only.
  /// Errors: Error for an event that gives a field twice (our bug).
  void event(const Event& event) override;

  /// Text of several lines (banner, end table), to run.log and, unless quiet, to the screen.
  /// A bar that is still there goes.
  void say(std::string_view text);

  /// The last line of a run, which even -q prints.
  void say_last(std::string_view line);

  /// Rethrows the first failure of a file. Call it where all ranks meet, inside run_together.
  void check() const;

private:
  void record(const Event& event, double now_s);
  void progress(const Event& event, const Position& at, double now_s);
  void log_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void draw_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void speak(const Event& event);
  void to_person(std::string_view text);
  std::string colored(const Event& event, std::string line) const;

  /// A loop that is running: its events have a total. Loops may interrupt each other.
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
  std::map<std::string, Loop> loops_;  // by word
};

}  // namespace mgpu::report
