#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <mgpu/config/yaml_document.hpp>

#include "scalar_text.hpp"
#include "yaml_lines.hpp"
#include "yaml_source.hpp"

namespace mgpu {
namespace {

using Kind = YamlNode::Kind;

/// Thrown to stop yaml-cpp early, after the problem has been recorded.
struct StopReading {};

/// Builds the tree from yaml-cpp's events. Refuses events of YAML features that are not supported,
/// such as aliases.
class TreeBuilder : public YAML::EventHandler {
public:
  explicit TreeBuilder(const YamlSource& source) : source_(source) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    add("E109", "a second document begins here", source_.at(mark),
        "one file is one configuration; --with lays another file over it");
    throw StopReading{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_properties(mark, "", anchor);
    YamlNode node;
    // For a missing value, yaml-cpp gives the mark of the next token.
    const std::string_view rest = source_.rest_of_line(mark);
    const bool written = rest.starts_with('~') || rest.starts_with('n') || rest.starts_with('N');
    const bool has_key = !frames_.empty() && frames_.back().has_key;
    const bool same_line = !has_key || frames_.back().key_place.line == mark.line + 1;
    node.place =
        (written && same_line) || !has_key ? source_.at_scalar(mark, "") : frames_.back().key_place;
    attach(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    add("E109", "an alias (`*name`) stands here", source_.at(mark),
        "write the value out, or put it into a file for `include`");
    attach({.place = source_.at(mark)});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_properties(mark, tag, anchor);
    const Place place = source_.at_scalar(mark, value);
    if (has_control(value)) add("E110", "a control character is in a value", place, "");
    const bool is_plain = tag == "?" && anchor == YAML::NullAnchor;
    if (is_plain && !source_.rest_of_line(mark).starts_with(value)) {
      add("E108", "this value goes on in the next line", place,
          "indent the next line like this key, or quote the text, or write `key: |`");
      attach({Kind::scalar, std::string(source_.plain_text(mark)), false, place});
      return;
    }
    attach({Kind::scalar, value, tag == "!", place});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  void add(std::string code, std::string sentence, Place place, std::string help) {
    add({std::move(code), std::move(sentence), std::move(place), "", std::move(help)});
  }
  void add(Problem problem) {
    if (problems_.size() < YamlLimits::kProblems) problems_.push_back(std::move(problem));
  }

  /// Returns the tree up to the place where reading stopped.
  YamlNode take_root() {
    while (!frames_.empty())
      close();
    return std::move(root_);
  }
  std::vector<Problem> take_problems() { return std::move(problems_); }

private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    std::string key{};
    Place key_place{};
    std::map<std::string, Place, std::less<>> seen{};
  };

  void check_properties(const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      add("E109", "an anchor (`&name`) is set here", source_.at(mark),
          "write the value out where it is needed, or put it into a file for `include`");
    }
    // Without a tag, yaml-cpp reports "" or "?", or "!" for a quoted scalar. A written tag `!` is
    // reported as "!", too.
    const bool untagged =
        tag.empty() || tag == "?" || (tag == "!" && !source_.rest_of_line(mark).starts_with('!'));
    if (untagged) return;
    add("E109", "a tag (`!name`) is set here", source_.at(mark),
        "remove it: every key knows its type");
  }

  void open(Kind kind, const YAML::Mark& mark, std::string_view tag, YAML::anchor_t anchor) {
    check_properties(mark, tag, anchor);
    const Place place = source_.at(mark);
    if (frames_.size() >= YamlLimits::kDepth) {
      add("E109", "the nesting is deeper than 32 levels", place, "");
      throw StopReading{};
    }
    const bool expects_key =
        !frames_.empty() && frames_.back().node.kind == Kind::mapping && !frames_.back().has_key;
    if (expects_key) {
      add("E109", "a list or a section stands where a key should be", place,
          "a key is a plain name");
      throw StopReading{};
    }
    frames_.push_back({.node = {.kind = kind, .place = place}});
  }

  void close() {
    YamlNode node = std::move(frames_.back().node);
    frames_.pop_back();
    attach(std::move(node));
  }

  void attach(YamlNode node) {
    if (++nodes_ == YamlLimits::kNodes + 1) {
      add("E109", "the file has more than 100,000 values", node.place, "");
      throw StopReading{};
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Kind::sequence) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.has_key) {
      add_entry(frame, std::move(node));
    } else {
      frame.has_key = true;
      frame.key = node.kind == Kind::null ? "null" : std::move(node.text);
      frame.key_place = std::move(node.place);
    }
  }

  void add_entry(Frame& frame, YamlNode value) {
    frame.has_key = false;
    if (frame.key == "<<") {
      add("E109", "a merge key (`<<`) stands here", frame.key_place, "write the keys out");
      return;
    }
    const auto [seen, is_new] = frame.seen.try_emplace(frame.key, frame.key_place);
    if (is_new) {
      value.key = frame.key;
      value.key_place = frame.key_place;
      frame.node.items.push_back(std::move(value));
      return;
    }
    add({"E103", "`" + section() + frame.key + "` is given twice", frame.key_place, "second value",
         "", seen->second});
  }

  /// Returns the name of the current section and a dot, such as "train."; "" at the top level.
  std::string section() const {
    std::string path;
    for (const Frame& frame : frames_)
      if (frame.has_key) path += frame.key + ".";
    return path;
  }

  const YamlSource& source_;
  YamlNode root_;
  std::vector<Frame> frames_;
  std::vector<Problem> problems_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

struct Translation {
  std::string_view theirs;  // beginning of yaml-cpp's message
  const char* code;
  const char* ours;
  const char* help;
};

constexpr std::array kTranslations = {
    Translation{"illegal map value", "E108", "a `:` stands where none can be",
                "indent the keys of a section equally; quote a value that has `: ` in it"},
    Translation{"end of map not found", "E108", "this line fits into no section",
                "indent the keys of a section equally"},
    Translation{"end of sequence not found", "E108", "this line fits into no list",
                "indent the `-` of a list equally"},
    Translation{"end of sequence flow", "E108", "a `[` is not closed", "close it with `]`"},
    Translation{"end of map flow", "E108", "a `{` is not closed", "close it with `}`"},
    Translation{"illegal flow end", "E108", "a `]` or `}` closes nothing", ""},
    Translation{"unknown token", "E108", "no value can begin like this",
                "put quotes around the value"},
    Translation{"the referenced anchor", "E109", "an alias (`*name`) stands here",
                "write the value out, or put it into a file for `include`"},
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') + 1 - first));
}

/// Returns `key: "value"` for an entry `key: value` whose value needs quotes but has no quotes. The
/// value needs quotes if it has `: ` in it or ends with `:`. Returns "" for other text.
std::string with_quotes(std::string_view entry) {
  const std::size_t colon = entry.find(": ");
  if (colon == std::string_view::npos) return "";
  const std::string key = trimmed(entry.substr(0, colon));
  const std::string value = trimmed(entry.substr(colon + 2));
  const bool has_colon = value.find(": ") != std::string::npos || value.ends_with(':');
  const bool is_plain =
      !value.empty() && std::string_view("\"'[{|>&*!").find(value[0]) == std::string_view::npos;
  return has_colon && is_plain ? key + ": " + yaml_quoted(value) : "";
}

/// Returns with_quotes() of the line. If the line has a `{`, calls with_quotes() for each entry in
/// the braces instead, and returns the first result that is not "", or "" if all results are "".
std::string quoted_entry(std::string_view line) {
  const std::size_t brace = line.find('{');
  if (brace == std::string_view::npos) return with_quotes(line);
  line.remove_prefix(brace + 1);
  line = line.substr(0, line.rfind('}'));
  while (!line.empty()) {
    const std::size_t comma = std::min(line.find(", "), line.size());
    if (std::string entry = with_quotes(line.substr(0, comma)); !entry.empty()) return entry;
    line.remove_prefix(std::min(comma + 2, line.size()));
  }
  return "";
}

void add_syntax_error(const YAML::Exception& error, const YamlSource& source,
                      TreeBuilder& builder) {
  const Place place = source.at(error.mark);
  const bool is_map =
      error.msg.starts_with("illegal map value") || error.msg.starts_with("end of map flow");
  if (const std::string entry = is_map ? quoted_entry(place.text) : ""; !entry.empty()) {
    builder.add("E108", "a text with `: ` in it has no quotes", place, "write " + entry);
    return;
  }
  for (const Translation& known : kTranslations) {
    if (!error.msg.starts_with(known.theirs)) continue;
    builder.add(known.code, known.ours, place, known.help);
    return;
  }
  builder.add("E108", "this is not YAML: " + error.msg, place, "");
}

/// Parses the lines as YAML, and sends the parser's events to `builder`. Returns false if reading
/// stopped before the end.
bool parse(const std::vector<std::string>& lines, const YamlSource& source, TreeBuilder& builder) {
  std::ostringstream text;
  for (const std::string& line : lines)
    text << line << '\n';
  try {
    std::istringstream stream(text.str());
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    add_syntax_error(error, source, builder);
    return false;
  } catch (const StopReading&) {
    return false;
  }
  return true;
}

void sort_by_place(std::vector<Problem>& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
}

}  // namespace

YamlDocument read_yaml(std::string_view text, const std::string& origin) {
  YamlDocument document;
  document.problems = check_encoding(text, origin);
  if (!document.problems.empty()) {
    document.complete = false;
    return document;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);

  const std::vector<std::string_view> as_written = split_lines(text);
  std::vector<std::string> lines(as_written.begin(), as_written.end());
  document.problems = repair_lines(lines, origin);
  const YamlSource source(lines, as_written, origin);
  TreeBuilder builder(source);
  document.complete = parse(lines, source, builder);
  document.root = builder.take_root();
  for (Problem& problem : builder.take_problems())
    document.problems.push_back(std::move(problem));
  sort_by_place(document.problems);
  return document;
}

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace mgpu
