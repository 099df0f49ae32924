#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/path_text.hpp>

namespace mgpu {
namespace {

constexpr const char* kLiteral = "a `$` itself is written $$";

bool is_name_character(char character, bool is_first) {
  const auto byte = static_cast<unsigned char>(character);
  return byte == '_' || std::isalpha(byte) != 0 || (!is_first && std::isdigit(byte) != 0);
}

/// Returns the name of a variable at the start of `text`, or "" if `text` does not begin with one.
std::string_view leading_name(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && is_name_character(text[size], size == 0))
    ++size;
  return text.substr(0, size);
}

ValueProblem unset(const std::string& name) {
  return {"E115", "the environment variable " + name + " is not set, or is empty",
          "export " + name + "=FOLDER before the start, or write the folder itself; " + kLiteral};
}

class PathExpander {
public:
  PathExpander(std::string_view text, const ReadVariable& variable)
      : rest_(text), variable_(variable) {}

  std::variant<std::string, ValueProblem> expand() {
    if (rest_.starts_with('~')) take_home();
    while (!rest_.empty() && !problem_)
      take_piece();
    if (problem_) return *problem_;
    return path_;
  }

private:
  void take_home() {
    const std::string user(rest_.substr(1, rest_.find('/') - 1));
    if (user.empty() || rest_.size() == 1) {
      add_variable("HOME");
      rest_.remove_prefix(1);
      return;
    }
    problem_ =
        ValueProblem{"E115", "`~" + user + "` is not replaced with the home of a user",
                     "write the folder itself; a file of that name is ./" + std::string(rest_)};
  }

  /// Expands the next piece of the text:
  /// - text without `$` is copied up to the next `$`
  /// - `$$` becomes `$`
  /// - a variable, such as `$NAME` or `${NAME}`, is replaced by its value
  /// - any other `$` is copied
  void take_piece() {
    const std::string_view after = rest_.substr(std::min<std::size_t>(1, rest_.size()));
    if (!rest_.starts_with('$')) {
      take(rest_.find('$'));
    } else if (after.starts_with('$')) {
      path_ += '$';
      rest_.remove_prefix(2);
    } else if (after.starts_with('{')) {
      take_braces(after.substr(1));
    } else if (const std::string_view name = leading_name(after); !name.empty()) {
      add_variable(std::string(name));
      rest_.remove_prefix(1 + name.size());
    } else {
      take(1);
    }
  }

  void take(std::size_t size) {
    path_ += rest_.substr(0, size);
    rest_.remove_prefix(std::min(size, rest_.size()));
  }

  void take_braces(std::string_view text) {
    const std::string_view name = leading_name(text);
    if (name.empty() || !text.substr(name.size()).starts_with('}')) {
      problem_ = ValueProblem{"E115", "`${` needs the name of a variable and `}`", kLiteral};
      return;
    }
    add_variable(std::string(name));
    rest_.remove_prefix(name.size() + 3);
  }

  void add_variable(const std::string& name) {
    const std::string value = variable_ ? variable_(name) : "";
    path_ += value;
    if (value.empty()) {
      problem_ = unset(name);
    } else if (path_.size() > kMaxPathBytes) {
      problem_ = ValueProblem{"E106", "with " + name + ", the path has more than 4095 bytes", ""};
    } else if (find_bad_utf8(value) != std::string::npos || printable(value) != value) {
      problem_ =
          ValueProblem{"E110", "the environment variable " + name + " is not plain text", ""};
    }
  }

  std::string_view rest_;
  const ReadVariable& variable_;
  std::string path_;
  std::optional<ValueProblem> problem_;
};

}  // namespace

std::variant<std::string, ValueProblem> expand_path(std::string_view text,
                                                    const ReadVariable& variable) {
  return PathExpander(text, variable).expand();
}

std::string unexpanded_path(std::string_view path) {
  std::string text;
  for (const char character : path)
    text += character == '$' ? std::string("$$") : std::string(1, character);
  return text;
}

std::optional<std::string> literal_text(std::string_view text) {
  std::string literal;
  while (!text.empty()) {
    if (text.starts_with("${")) return std::nullopt;
    if (text.starts_with("$${")) text.remove_prefix(1);
    const std::size_t size = text.starts_with("${") ? 2 : 1;
    literal += text.substr(0, size);
    text.remove_prefix(size);
  }
  return literal;
}

std::string escaped_text(std::string_view text) {
  std::string escaped;
  for (std::size_t at = text.find("${"); at != text.npos; at = text.find("${")) {
    escaped.append(text.substr(0, at)).append("$${");
    text.remove_prefix(at + 2);
  }
  return escaped.append(text);
}

}  // namespace mgpu
