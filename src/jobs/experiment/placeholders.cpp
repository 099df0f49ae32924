#include "placeholders.hpp"

#include <algorithm>
#include <cstddef>

namespace mgpu::jobs {
namespace {

/// Replaces the placeholders of one line.
class LineReplacer {
public:
  LineReplacer(std::string_view line, const ReplaceName& replace)
      : rest_(line), replace_(replace) {}

  std::string line() { return text_until(""); }

private:
  /// Returns the text of `rest_` up to `end`, with its placeholders replaced. Removes this text and
  /// `end` from `rest_`. If `end` is "", returns all of `rest_`.
  std::string text_until(std::string_view end) {
    std::string text;
    while (!rest_.empty() && (end.empty() || !rest_.starts_with(end))) {
      if (rest_.starts_with("$$")) {
        text += take(2);
      } else if (rest_.starts_with("${")) {
        text += placeholder();
      } else {
        text += take(1);
      }
    }
    has_end_ = !rest_.empty();
    take(end.size());
    return text;
  }

  /// Returns the text for the placeholder with which `rest_` begins, and removes the placeholder
  /// from `rest_`. A placeholder without a closing brace is kept.
  std::string placeholder() {
    take(2);
    const std::string name = text_until("}");
    if (!has_end_) return "${" + name;
    return replace_(name).value_or("${" + name + "}");
  }

  std::string take(std::size_t size) {
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(std::min(size, rest_.size()));
    return text;
  }

  std::string_view rest_;
  const ReplaceName& replace_;
  bool has_end_ = false;
};

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '#';
}

}  // namespace

std::string replace_placeholders(std::string_view text, const ReplaceName& replace) {
  std::string replaced;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == text.npos ? end : end + 1);
    replaced += is_comment(line) ? std::string(line) : LineReplacer(line, replace).line();
    text.remove_prefix(line.size());
  }
  return replaced;
}

}  // namespace mgpu::jobs
