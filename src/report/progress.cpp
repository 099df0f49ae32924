#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/progress.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr double kDay_s = 86400.0;
constexpr double kWindow_s = 60.0;  // seconds over which the rate is averaged
constexpr int kWidestBar = 30;
constexpr int kNarrowestBar = 10;

std::string drawn_bar(double share, int width, bool utf8) {
  const double filled = std::clamp(share, 0.0, 1.0) * width;
  const auto full = static_cast<int>(filled);
  std::string bar = "|";
  for (int i = 0; i < width; ++i) {
    if (i < full) {
      bar += utf8 ? "\u2588" : "#";
    } else {
      bar += utf8 ? "\u2591" : "-";
    }
  }
  return bar + "|";
}

/// Returns the parts to the right of the bar, most important first.
std::vector<std::string> bar_parts(const Event& event, const Position& at,
                                   std::optional<double> rate, const std::string& eta) {
  std::vector<std::string> parts;
  parts.push_back(
      text_of("%lld/%lld", static_cast<long long>(at.done), static_cast<long long>(at.total)));
  if (const auto loss = number_field(event, "loss")) parts.push_back(text_of("loss %.3f", *loss));
  if (rate) parts.push_back(rate_text(*rate) + ' ' + at.unit + "/s");
  if (!eta.empty()) parts.push_back("eta " + eta);
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : "  ") + part;
  return text;
}

}  // namespace

ReportClock ReportClock::real(double elapsed_s) {
  using Steady = std::chrono::steady_clock;
  const Steady::time_point birth = Steady::now();
  return {[birth, elapsed_s] {
            return elapsed_s + std::chrono::duration<double>(Steady::now() - birth).count();
          },
          [] { return std::chrono::system_clock::now(); }};
}

void ProgressMeter::update(std::int64_t done, double now_s) {
  if (!marks_.empty() && done < marks_.back().done) marks_.clear();  // another loop has begun
  // About sixteen marks in kWindow_s seconds are enough. So if the second-to-last mark is less than
  // kWindow_s / 16 old, the new mark replaces the last one.
  if (marks_.size() >= 2 && now_s - marks_[marks_.size() - 2].now_s < kWindow_s / 16) {
    marks_.back() = {now_s, done};
  } else {
    marks_.push_back({now_s, done});
  }
  while (marks_.size() > 2 && now_s - marks_[1].now_s >= kWindow_s)
    marks_.pop_front();
}

std::optional<double> ProgressMeter::rate() const {
  if (marks_.size() < 2) return std::nullopt;
  const double seconds = marks_.back().now_s - marks_.front().now_s;
  if (seconds < 0.2) return std::nullopt;
  return static_cast<double>(marks_.back().done - marks_.front().done) / seconds;
}

std::optional<double> ProgressMeter::eta_s(std::int64_t total) const {
  const std::optional<double> speed = rate();
  if (!speed || !(*speed > 0)) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(total - marks_.back().done, 0)) / *speed;
}

bool LineSchedule::due(double now_s) {
  const double age = now_s - start_s_;
  if (age < next_s_) return false;
  next_s_ = 60.0 * (std::floor(age / 60.0) + 1.0);
  for (const double early : {30.0, 10.0, 5.0, 2.0})
    if (age < early) next_s_ = early;
  return true;
}

std::string eta_text(double eta_s, std::chrono::system_clock::time_point now, bool for_log) {
  if (eta_s <= kDay_s) return for_log ? h_mm_ss(eta_s) : m_ss(eta_s);
  const auto end = now + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                             std::chrono::duration<double>(std::min(eta_s, 1e9)));
  return utc_seconds(end).substr(0, 16) + "Z";
}

std::string bar_text(const Event& event, const Position& at, std::optional<double> rate,
                     const std::string& eta, const Terminal& terminal) {
  const double share = static_cast<double>(at.done) / static_cast<double>(at.total);
  const std::string head = pad_right(escape_log(event.word), 5) +
                           text_of(" %3.0f%% ", std::floor(100.0 * std::min(share, 1.0)));
  std::vector<std::string> parts = bar_parts(event, at, rate, eta);
  // The last column stays free, because some terminals wrap the line after a character there.
  const int room = terminal.columns - 1 - static_cast<int>(width_of(head)) - 3;
  const auto left = [&] { return room - static_cast<int>(width_of(joined(parts))); };
  while (parts.size() > 1 && left() < kNarrowestBar)
    parts.pop_back();
  const int width = std::min(left(), kWidestBar);
  const std::string bar =
      width >= kNarrowestBar ? drawn_bar(share, width, terminal.utf8) + ' ' : "";
  return clip(head + bar + joined(parts),
              static_cast<std::size_t>(std::max(terminal.columns - 1, 1)));
}

void ProgressBar::draw(std::string text, double now_s) {
  if (!ready(now_s)) return;
  drawn_s_ = now_s;
  text_ = std::move(text);
  restore();
}

void ProgressBar::finish(std::string text, double now_s) {
  drawn_s_ = now_s;
  text_ = std::move(text);
  restore();
  write_("\n");
  text_.clear();
}

void ProgressBar::clear() {
  if (visible()) write_("\r\x1b[K");
}

void ProgressBar::restore() {
  if (visible()) write_("\r" + text_ + "\x1b[K");
}

void ProgressBar::remove() {
  clear();
  text_.clear();
}

}  // namespace mgpu::report
