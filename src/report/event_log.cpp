#include <cerrno>
#include <fstream>
#include <utility>

#include <unistd.h>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/event_log.hpp>

namespace mgpu::report {
namespace {

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // an error, such as a closed pipe: the rest of the text is dropped
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool ends_torn(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return false;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || file.tellg() <= 0) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

template <class Line>
void each_line(std::string_view text, Line line) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (true) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

bool is_urgent(const Event& event) {
  return event.word == "warn" || event.word == "error";
}

}  // namespace

LineFile::LineFile(const fs::path& path, const std::string& what)
    : file_(path, what, DurableFile::Mode::append) {
  if (ends_torn(path)) file_.write("\n");
}

void LineFile::line(std::string_view text) noexcept {
  if (failure_) return;
  try {
    file_.write(std::string(text) + '\n');
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void LineFile::check() const {
  if (failure_) std::rethrow_exception(failure_);
}

Output Output::real() {
  return {[](std::string_view text) { write_all(STDOUT_FILENO, text); },
          [](std::string_view text) { write_all(STDERR_FILENO, text); }};
}

EventLog::EventLog(const Options& options, const Terminal& terminal, Output output,
                   ReportClock clock)
    : options_(options),
      terminal_(terminal),
      mode_(options.verbosity == Verbosity::quiet ? ProgressMode::off
                                                  : choose_progress(options.progress, terminal)),
      output_(std::move(output)),
      clock_(std::move(clock)),
      bar_(output_.err) {
  if (!options.events_file.empty()) events_.emplace(options.events_file, "events");
  if (!options.run_log.empty()) run_log_.emplace(options.run_log, "run log");
}

void EventLog::event(const Event& event) {
  if (event.word == "debug" && options_.verbosity != Verbosity::verbose) return;
  const double now_s = clock_.elapsed_s();
  if (const std::optional<Position> at = position_of(event)) {
    progress(event, *at, now_s);
  } else {
    record(event, now_s);
    print_event(event);
  }
}

void EventLog::record(const Event& event, double now_s) {
  if (!events_ && !options_.json) return;
  const std::string line = event_json(event, clock_.utc(), now_s);
  if (events_) events_->line(line);
  if (options_.json) output_.out(line + '\n');
}

EventLog::LoopName EventLog::name_of(const Event& event) {
  const Event::Value* session = find_field(event, "session");
  const auto* name = session == nullptr ? nullptr : std::get_if<std::string>(session);
  return {event.word, name == nullptr ? "" : *name};
}

void EventLog::progress(const Event& event, const Position& at, double now_s) {
  const LoopName name = name_of(event);
  auto found = loops_.find(name);
  const bool begins = found == loops_.end() || found->second.total != at.total;
  if (begins) {
    Loop fresh{at.total, {}, LineSchedule(now_s), now_s};
    found = loops_.insert_or_assign(name, std::move(fresh)).first;
  }
  Loop& loop = found->second;
  const bool ends = at.done >= at.total;
  loop.meter.update(at.done, now_s);
  if (begins || ends || now_s - loop.recorded_s >= options_.record_every_s) {
    loop.recorded_s = now_s;
    record(event, now_s);
  }
  if (loop.schedule.due(now_s) || ends) log_progress(event, at, loop.meter);
  if (mode_ == ProgressMode::bar && (ends || bar_.ready(now_s)))
    draw_progress(event, at, loop.meter);
  if (ends) loops_.erase(found);
}

void EventLog::log_progress(const Event& event, const Position& at, const ProgressMeter& meter) {
  Event full = event;
  const std::string rate_key = (at.unit == "step" ? "steps" : at.unit) + "_per_second";
  const bool has_rate = find_field(event, "tokens_per_second") != nullptr;
  const auto rate = meter.rate();
  if (rate && !has_rate) full.fields.emplace_back(rate_key, *rate);
  const auto eta_s = meter.eta_s(at.total);
  if (eta_s && at.done < at.total)
    full.fields.emplace_back("eta_s", eta_text(*eta_s, clock_.utc(), true));
  const std::string line = event_line(full, clock_.utc());
  if (run_log_) run_log_->line(line);
  if (mode_ == ProgressMode::lines) print_text(line + '\n');
}

void EventLog::draw_progress(const Event& event, const Position& at, const ProgressMeter& meter) {
  const auto eta_s = meter.eta_s(at.total);
  const bool ends = at.done >= at.total;
  const std::string eta = eta_s && !ends ? eta_text(*eta_s, clock_.utc(), false) : "";
  std::string text = bar_text(event, at, meter.rate(), eta, terminal_);
  const double now_s = clock_.elapsed_s();
  if (ends) {
    bar_.finish(std::move(text), now_s);
  } else {
    bar_.draw(std::move(text), now_s);
  }
}

void EventLog::print_event(const Event& event) {
  const std::string line = event_line(event, clock_.utc());
  if (run_log_) run_log_->line(line);
  if (options_.verbosity == Verbosity::quiet && !is_urgent(event)) return;
  print_text(colored(event, line) + '\n');
}

std::string EventLog::colored(const Event& event, std::string line) const {
  if (!terminal_.color) return line;
  const char* paint = nullptr;
  if (event.word == "warn") paint = "\x1b[33m";
  if (event.word == "error") paint = "\x1b[31m";
  if (event.word == "note") paint = "\x1b[36m";
  return paint == nullptr ? line : paint + std::move(line) + "\x1b[0m";
}

void EventLog::print_text(std::string_view text) {
  // mpirun forwards stdout and stderr through separate pipes, and does not keep their order. So if
  // stdout is on the same screen as the bar, lines go to stderr, like the bar.
  const bool beside_bar = mode_ == ProgressMode::bar && terminal_.stdout_is_screen;
  bar_.clear();
  (options_.json || beside_bar ? output_.err : output_.out)(text);
  bar_.restore();
}

void EventLog::print(std::string_view text) {
  std::string clean;
  each_line(text, [&](std::string_view line) {
    clean += escape_log(line) + '\n';
    if (run_log_) run_log_->line(escape_log(line));
  });
  bar_.remove();
  if (options_.verbosity != Verbosity::quiet) print_text(clean);
}

void EventLog::print_if_quiet(std::string_view text) {
  if (options_.verbosity != Verbosity::quiet) return;
  std::string clean;
  each_line(text, [&](std::string_view line) { clean += escape_log(line) + '\n'; });
  print_text(clean);
}

void EventLog::print_last_line(std::string_view line) {
  const std::string clean = escape_log(line);
  if (run_log_) run_log_->line(clean);
  bar_.remove();
  print_text(clean + '\n');
}

void EventLog::check() const {
  if (events_) events_->check();
  if (run_log_) run_log_->check();
}

}  // namespace mgpu::report
