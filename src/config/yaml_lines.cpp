#include "yaml_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/yaml_document.hpp>

namespace mgpu {
namespace {

constexpr auto kNone = std::string_view::npos;

/// Scans the lines of a file and tracks where a value may begin. At such a position, a quote opens
/// a quoted text, and `|` or `>` opens a block of text. Elsewhere, these characters have no special
/// meaning.
class LineScanner {
public:
  explicit LineScanner(const std::string& origin) : origin_(origin) {}

  /// Records the problems of a line. Returns the line in a form that the YAML parser can read.
  /// `next` is the line after it, or "".
  std::string scan(std::string line, std::string_view next) {
    ++number_;
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    if (!is_quote_open_ && flow_depth_ == 0) value_indent_ = spaces;
    const std::size_t next_indent = next.find_first_not_of(' ');
    may_continue_ = next_indent != kNone && next_indent > value_indent_;
    if (is_quote_open_) {
      is_quote_open_ = false;
      scan_values(line, end_of_quote(line, 0, '"') + 1, /*at_start=*/false);
      return line;
    }
    if (block_indent_ && (spaces == line.size() || spaces > *block_indent_)) return line;
    block_indent_.reset();
    if (line.starts_with('%')) {
      add("E109", line, 0, 1, "a directive (`%NAME`) stands here", "remove the line");
      return "";
    }
    if (spaces < line.size() && line[spaces] == '\t') line = without_tabs(line, spaces);
    scan_values(line, std::min(line.find_first_not_of(' '), line.size()), /*at_start=*/true);
    return line;
  }

  std::vector<Problem> take_problems() { return std::move(problems_); }

private:
  std::string without_tabs(const std::string& line, std::size_t spaces) {
    const std::size_t end = line.find_first_not_of(" \t", spaces);
    if (end == kNone || line[end] == '#') return "";
    add("E108", line, spaces, end - spaces, "a tab indents this line",
        "YAML indents with spaces only");
    std::string repaired(spaces, ' ');
    for (std::size_t i = spaces; i < end; ++i)
      repaired += line[i] == '\t' ? "  " : " ";
    return repaired + line.substr(end);
  }

  /// Goes through the keys and values of a line from offset `begin`. Adds missing closing quotes
  /// and counts open brackets. Records the indentation of a line on which `|` or `>` opens a block
  /// of text. `at_start` is true where a value or key may begin.
  void scan_values(std::string& line, std::size_t begin, bool at_start) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    for (std::size_t i = begin; i < line.size(); ++i) {
      const char c = line[i];
      if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return;
      if (at_start && (c == '"' || c == '\'')) {
        i = end_of_quote(line, i + 1, c);
        at_start = false;
      } else if (at_start && flow_depth_ == 0 && (c == '|' || c == '>')) {
        block_indent_ = indent;
        return;
      } else {
        at_start = starts_value(line, i, at_start);
      }
    }
  }

  /// Returns whether a value may begin after character `i`. Also counts open brackets.
  bool starts_value(const std::string& line, std::size_t i, bool at_start) {
    const char c = line[i];
    const bool spaced = i + 1 == line.size() || line[i + 1] == ' ' || line[i + 1] == '\t';
    if (c == ' ' || c == '\t') return at_start;
    if (at_start && (c == '[' || c == '{')) {
      ++flow_depth_;
      return true;
    }
    if (flow_depth_ > 0 && (c == ']' || c == '}')) {
      --flow_depth_;
      return false;
    }
    if (flow_depth_ > 0 && c == ',') return true;
    if (c == ':') return spaced;
    return at_start && spaced && (c == '-' || c == '?');
  }

  /// Returns the offset of the closing quote of a text that begins or continues at offset `begin`.
  /// If the quote is missing, records a problem and adds the quote at the end of the line. If a
  /// backslash at the end continues the text in the next line, returns the offset of the backslash.
  std::size_t end_of_quote(std::string& line, std::size_t begin, char quote) {
    for (std::size_t i = begin; i < line.size(); ++i) {
      if (quote == '"' && line[i] == '\\') {
        is_quote_open_ = i + 1 == line.size() && may_continue_;
        if (is_quote_open_) return i;
        ++i;
      } else if (line[i] == quote) {
        const bool doubled = quote == '\'' && i + 1 < line.size() && line[i + 1] == quote;
        if (!doubled) return i;
        ++i;
      }
    }
    add("E108", line, begin == 0 ? 0 : begin - 1, 1, "a quote is not closed on its line",
        std::string("close it with ") + quote + "; for text over several lines write `key: |`");
    while (!line.empty() && line.back() == '\\')
      line.pop_back();
    line += quote;
    return line.size() - 1;
  }

  void add(std::string code, std::string_view line, std::size_t begin, std::size_t bytes,
           std::string sentence, std::string help) {
    if (problems_.size() >= YamlLimits::kProblems) return;
    const int column = static_cast<int>(utf8_length(line.substr(0, begin))) + 1;
    problems_.push_back({std::move(code), std::move(sentence),
                         place_in_line(origin_, number_, line, column, static_cast<int>(bytes)), "",
                         std::move(help)});
  }

  const std::string& origin_;
  int number_ = 0;
  int flow_depth_ = 0;
  std::optional<std::size_t> block_indent_;  // indentation of the line that opened a block of text
  bool is_quote_open_ = false;               // a text in double quotes continues in the next line
  bool may_continue_ = false;                // the next line is indented more than value_indent_
  std::size_t value_indent_ = 0;  // indentation of the line on which a list or text began
  std::vector<Problem> problems_;
};

/// Returns the place of the byte at `offset`.
Place place_of(std::string_view text, std::size_t offset, const std::string& origin) {
  const auto begin = text.begin();
  const auto line = std::count(begin, begin + static_cast<std::ptrdiff_t>(offset), '\n');
  const std::size_t start = offset == 0 ? 0 : text.rfind('\n', offset - 1) + 1;
  const std::string_view rest = text.substr(start, text.find_first_of("\r\n", offset) - start);
  const auto column = utf8_length(printable(rest.substr(0, offset - start)));
  return place_in_line(origin, static_cast<int>(line) + 1, printable(rest),
                       static_cast<int>(column) + 1, 1);
}

std::size_t find_control(std::string_view text) {
  const auto bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == 0x7F || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r');
  };
  const auto found = std::find_if(text.begin(), text.end(), bad);
  return found == text.end() ? kNone : static_cast<std::size_t>(found - text.begin());
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<Problem> repair_lines(std::vector<std::string>& lines, const std::string& origin) {
  LineScanner scanner(origin);
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i] = scanner.scan(std::move(lines[i]), i + 1 < lines.size() ? lines[i + 1] : "");
  return scanner.take_problems();
}

std::vector<Problem> check_encoding(std::string_view text, const std::string& origin) {
  if (text.size() > YamlLimits::kBytes) {
    return {{"E109", "the file is larger than 1 MiB", Place{origin}, "",
             "put data into separate files"}};
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return {
        {"E110", "the file is UTF-16, not UTF-8", Place{origin}, "", "iconv -f UTF-16 -t UTF-8"}};
  }
  if (const std::size_t bad = find_bad_utf8(text); bad != kNone) {
    return {{"E110", "a byte is not UTF-8", place_of(text, bad, origin), "",
             "iconv -f LATIN1 -t UTF-8 may be what the file needs"}};
  }
  if (const std::size_t bad = find_control(text); bad != kNone) {
    const char* what =
        text[bad] == '\0' ? "a NUL byte is in the file" : "a control character is in the file";
    return {{"E110", what, place_of(text, bad, origin)}};
  }
  const std::vector<std::string_view> lines = split_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].size() <= YamlLimits::kLineBytes) continue;
    return {{"E109", "a line is longer than 16 KiB",
             place_in_line(origin, static_cast<int>(i) + 1, lines[i], 1, 1)}};
  }
  return {};
}

}  // namespace mgpu
