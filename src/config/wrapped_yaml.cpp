#include "wrapped_yaml.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

constexpr std::size_t kLineBytes = 4096;

/// Returns the number of bytes at the front of `text` that a line break may not split: those of an
/// escape sequence, or of a character. `quote` is the quote that is open, or 0.
std::size_t unit_bytes(std::string_view text, char quote) {
  if (quote == '\'' && text.starts_with("''")) return 2;
  std::size_t bytes = 1;
  if (quote == '"' && text[0] == '\\' && text.size() > 1) {
    const std::size_t digits = text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : text[1] == 'U' ? 8 : 0;
    bytes = 2 + digits;
  }
  const auto continues = [&] { return (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U; };
  while (bytes < text.size() && continues())
    ++bytes;
  return std::min(bytes, text.size());
}

/// Copies YAML text, and adds line breaks where the line is full.
class Wrapper {
public:
  explicit Wrapper(std::size_t indent) : line_break_("\n" + std::string(indent, ' ')) {}

  /// Copies the next unit of the text (see unit_bytes()).
  void add(std::string_view unit) {
    const bool is_full = wrapped_.size() - line_begin_ >= kLineBytes;
    if (is_full && quote_ == '"' && unit != "\t") {
      break_line("\\", unit == " " ? "\\" : "");
    } else if (is_full && quote_ == 0 && last_ == ',' && unit == " ") {
      break_line("", "");
    }
    follow(unit);
    wrapped_ += unit;
  }

  char quote() const { return quote_; }  // the quote that is open, or 0
  std::string take() { return std::move(wrapped_); }

private:
  void break_line(std::string_view end, std::string_view begin) {
    wrapped_ += end;
    line_begin_ = wrapped_.size();
    wrapped_ += line_break_;
    wrapped_ += begin;
  }

  /// Notes where a quoted scalar begins and ends. It begins only where a value may begin.
  void follow(std::string_view unit) {
    const char c = unit[0];
    const bool may_begin = std::string_view("[{,:").find(last_) != std::string_view::npos;
    if (quote_ != 0) {
      if (c == quote_ && unit.size() == 1) quote_ = 0;
    } else if (may_begin && (c == '"' || c == '\'')) {
      quote_ = c;
    }
    if (c != ' ') last_ = c;
  }

  std::string wrapped_;
  std::string line_break_;
  std::size_t line_begin_ = 0;
  char quote_ = 0;
  char last_ = ':';  // the last character that is not a space; the text is the value of a key
};

}  // namespace

std::string wrapped_yaml(std::string_view text, std::size_t indent) {
  if (text.size() <= kLineBytes) return std::string(text);
  Wrapper wrapper(indent);
  while (!text.empty()) {
    const std::size_t bytes = unit_bytes(text, wrapper.quote());
    wrapper.add(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return wrapper.take();
}

}  // namespace mgpu
