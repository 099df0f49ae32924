#include <algorithm>
#include <charconv>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/line_problems.hpp>

namespace mgpu::formats {
namespace {

constexpr std::size_t kShown = 5;

/// Removes the part of `text` up to and including the first `end`; the whole text if there is no
/// `end`. Returns the removed part without `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string place_text(const fs::path& path, const std::pair<std::int64_t, std::string>& problem) {
  return path.string() + ":" + std::to_string(problem.first) + ": " + problem.second;
}

}  // namespace

void LineProblems::add(std::int64_t line, const std::string& why) {
  ++count_;
  const auto place = std::upper_bound(first_.begin(), first_.end(), line,
                                      [](std::int64_t a, const auto& b) { return a < b.first; });
  first_.emplace(place, line, printable(why));
  if (first_.size() > kShown) first_.pop_back();
}

std::string LineProblems::packed() const {
  std::string text = std::to_string(count_) + "\n";
  for (const auto& [line, why] : first_)
    text += std::to_string(line) + " " + why + "\n";
  return text;
}

void LineProblems::unpack(std::string_view packed) {
  const std::int64_t others = count_ + number_of(take_until(packed, '\n'));
  while (!packed.empty()) {
    std::string_view why = take_until(packed, '\n');
    const std::int64_t line = number_of(take_until(why, ' '));
    add(line, std::string(why));
  }
  count_ = others;
}

std::string LineProblems::first_text() const {
  if (first_.empty()) throw Error("no line has a problem");
  return place_text(path_, first_.front());
}

void LineProblems::throw_if_any(const std::string& help) const {
  if (count_ == 0) return;
  const std::string what = count_ == 1
                               ? "a line of a data file cannot be used"
                               : std::to_string(count_) + " lines of a data file cannot be used";
  ErrorReport report{"E531", ExitCode::data, what, {}, help};
  for (const auto& problem : first_)
    report.lines.push_back("  --> " + place_text(path_, problem));
  const std::int64_t more = count_ - static_cast<std::int64_t>(first_.size());
  if (more > 0) report.lines.push_back("  and " + std::to_string(more) + " more");
  throw Failure(std::move(report));
}

}  // namespace mgpu::formats
