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

/// A text file that grows by lines and survives kills. Each line is one write. If an earlier
/// attempt was killed in the middle of its last line, a newline ends that line first.
///
/// line() never throws, because one rank may not fail alone in the middle of its work. The first
/// failure is kept, later lines are dropped, and check() reports the failure.
class LineFile {
public:
  /// `what`: see DurableFile. Errors: Failure E601, E602.
  LineFile(const fs::path& path, const std::string& what);

  void line(std::string_view text) noexcept;

  /// Rethrows the failure of line(). Call it on all ranks at the same point, inside run_together().
  void check() const;

private:
  DurableFile file_;
  std::exception_ptr failure_;
};

/// The destinations of printed text; tests capture both.
struct Output {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;

  /// Writes to file descriptors 1 and 2, and ignores errors, such as those of a closed pipe.
  static Output real();
};

enum class Verbosity { quiet, normal, verbose };

/// All output of rank 0: events to events.jsonl, lines to run.log, and both to the screen if the
/// options ask for it.
///
/// An event with a `total` is progress and may come in every iteration of a loop. The bar is drawn
/// at most five times a second. A line is written after 1, 2, 5, 10 and 30 s, then each minute.
/// File events.jsonl gets the first and the last event of the loop, and at most one event a second
/// in between. Only one thread may use an EventLog.
class EventLog : public EventSink {
public:
  struct Options {
    fs::path events_file;  // "" for none
    fs::path run_log;      // "" for none
    Verbosity verbosity = Verbosity::normal;
    bool json = false;  // events go to stdout, and text for people to stderr
    ProgressMode progress = ProgressMode::automatic;
    double record_every_s = 1.0;
  };

  /// Errors: Failure E601, E602 from the two files.
  EventLog(const Options& options, const Terminal& terminal, Output output = Output::real(),
           ReportClock clock = ReportClock::real());

  /// Never throws for a full disk: see check(). Event "debug" is shown with -v only.
  /// Errors: Error for an event that gives a field twice (our bug).
  void event(const Event& event) override;

  /// Writes text of several lines (banner, end table) to run.log and, unless quiet, to the screen.
  /// Removes a progress bar that is still visible.
  void print(std::string_view text);

  /// Prints the last line of a run, even with -q.
  void print_last_line(std::string_view line);

  /// Rethrows the first failure of a file. Call it on all ranks at the same point, inside
  /// run_together().
  void check() const;

private:
  void record(const Event& event, double now_s);
  void progress(const Event& event, const Position& at, double now_s);
  void log_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void draw_progress(const Event& event, const Position& at, const ProgressMeter& meter);
  void print_event(const Event& event);
  void print_text(std::string_view text);
  std::string colored(const Event& event, std::string line) const;

  /// A running loop, whose events have a `total`. Events of several loops may alternate.
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
  std::map<std::string, Loop> loops_;  // by Event::word
};

}  // namespace mgpu::report
