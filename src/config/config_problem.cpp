#include <algorithm>
#include <cstddef>
#include <utility>

#include <mgpu/base/utf8.hpp>
#include <mgpu/config/config_problem.hpp>

namespace mgpu {
namespace {

constexpr int kLineCharacters = 100;  // longest piece of a line that is shown
constexpr int kBefore = 60;           // most characters in front of the caret, if the line is cut
constexpr std::size_t kShownProblems = 40;
constexpr std::string_view kCommandLine = "command line";

std::string blanks(int count) {
  return std::string(static_cast<std::size_t>(std::max(count, 0)), ' ');
}

std::string carets(const Place& place, char mark) {
  const int room = static_cast<int>(utf8_length(place.text)) + 1 - (place.column - place.cut - 1);
  const int count = std::clamp(place.length, 1, std::max(room, 1));
  return std::string(static_cast<std::size_t>(count), mark);
}

/// Adds two lines. The first line has the line number in a column of `digits` characters, and the
/// text of `place`. The second line marks the place with `mark` characters, followed by `said`.
void add_excerpt(std::vector<std::string>& lines, const Place& place, std::string_view said,
                 int digits, char mark) {
  const std::string number = std::to_string(place.line);
  const std::string gutter = blanks(digits) + " | ";
  lines.push_back(blanks(digits - static_cast<int>(number.size())) + number + " | " +
                  printable(place.text));
  std::string below = gutter + blanks(place.column - place.cut - 1) + carets(place, mark);
  if (!said.empty()) below += " " + std::string(said);
  lines.push_back(std::move(below));
}

std::vector<std::string> command_line_lines(const Problem& problem) {
  const std::string head = "  --> " + problem.place.origin + ": ";
  std::vector<std::string> lines = {head + printable(problem.place.text)};
  std::string below = blanks(static_cast<int>(utf8_length(head)) + problem.place.column - 1) +
                      carets(problem.place, '^');
  if (!problem.under.empty()) below += " " + problem.under;
  lines.push_back(std::move(below));
  return lines;
}

std::vector<std::string> file_lines(const Problem& problem) {
  const bool same_file = problem.first.line > 0 && problem.first.origin == problem.place.origin;
  const int last =
      same_file ? std::max(problem.place.line, problem.first.line) : problem.place.line;
  const int digits = static_cast<int>(std::to_string(last).size());
  std::vector<std::string> lines = {blanks(digits + 1) + "--> " + problem.place.origin + ":" +
                                        std::to_string(problem.place.line) + ":" +
                                        std::to_string(problem.place.column),
                                    blanks(digits + 1) + "|"};
  if (same_file && problem.first.line != problem.place.line) {
    add_excerpt(lines, problem.first, "first here", digits, '-');
  }
  add_excerpt(lines, problem.place, problem.under, digits, '^');
  if (!problem.help.empty()) lines.push_back(blanks(digits + 1) + "|");
  return lines;
}

std::vector<std::string> place_lines(const Problem& problem) {
  if (problem.place.origin.empty()) return {};
  std::vector<std::string> lines;
  if (problem.place.line > 0) {
    lines = file_lines(problem);
  } else if (!problem.place.text.empty()) {
    lines = command_line_lines(problem);
  } else {
    lines = {"  --> " + problem.place.origin};
  }
  const bool elsewhere = !problem.first.origin.empty() &&
                         (problem.first.origin != problem.place.origin || problem.first.line == 0);
  if (elsewhere) lines.push_back("  first: " + source_of(problem.first));
  return lines;
}

/// Returns a list of the files with mistakes, and of the command line if it has mistakes. Examples
/// are " in conf.yaml", " in a.yaml and on the command line", and " in a.yaml, in b.yaml, in c.yaml
/// and 2 more".
std::string origins_of(const std::vector<Problem>& problems) {
  std::vector<std::string> origins;
  for (const Problem& problem : problems) {
    std::string origin = problem.place.origin;
    if (origin.empty()) continue;
    origin =
        (origin.starts_with(kCommandLine) ? "on the " + std::string(kCommandLine) : "in " + origin);
    if (std::find(origins.begin(), origins.end(), origin) == origins.end()) {
      origins.push_back(std::move(origin));
    }
  }
  if (origins.empty()) return "";
  std::string text = " " + origins[0];
  for (std::size_t i = 1; i < std::min<std::size_t>(origins.size(), 3); ++i)
    text += (i + 1 == origins.size() ? " and " : ", ") + origins[i];
  if (origins.size() > 3) text += " and " + std::to_string(origins.size() - 3) + " more";
  return text;
}

/// Returns the lines of a problem, with its help below them. If a line of a file is shown, the help
/// is aligned with the `|` after the line number.
std::vector<std::string> lines_with_help(const Problem& problem) {
  const ErrorReport report = to_report(problem);
  std::vector<std::string> lines = report.lines;
  if (report.help.empty()) return lines;
  const std::size_t gutter = lines.size() > 1 ? lines[1].find('|') : std::string::npos;
  const bool has_gutter = problem.place.line > 0 && gutter != std::string::npos;
  lines.push_back(std::string(has_gutter ? gutter : 2, ' ') + "= help: " + report.help);
  return lines;
}

/// Returns one report with the first kShownProblems problems and all broken rules, one below the
/// other.
ErrorReport fold(const std::vector<Problem>& problems, ExitCode exit,
                 const std::vector<ErrorReport>& rules) {
  if (problems.empty()) throw Error("a ConfigFailure needs a problem");
  ErrorReport folded = to_report(problems[0]);
  folded.exit = exit;
  folded.help.clear();
  folded.lines = lines_with_help(problems[0]);
  for (std::size_t i = 1; i < std::min(problems.size(), kShownProblems); ++i) {
    const std::vector<std::string> lines = lines_with_help(problems[i]);
    folded.lines.emplace_back();
    folded.lines.push_back("error[" + problems[i].code + "]: " + printable(problems[i].sentence));
    folded.lines.insert(folded.lines.end(), lines.begin(), lines.end());
  }
  if (problems.size() > kShownProblems) {
    folded.lines.emplace_back();
    folded.lines.push_back("and " + std::to_string(problems.size() - kShownProblems) + " more");
  }
  for (const ErrorReport& rule : rules) {
    folded.lines.emplace_back();
    folded.lines.push_back(render(rule));
  }
  folded.lines.emplace_back();
  const std::size_t count = problems.size() + rules.size();
  folded.lines.push_back(std::to_string(count) + (count == 1 ? " error" : " errors") +
                         (rules.empty() ? origins_of(problems) : "") + "; nothing was started.");
  return folded;
}

}  // namespace

Place place_in_line(std::string origin, int line, std::string_view line_text, int column,
                    int length) {
  const auto cut = static_cast<std::size_t>(std::max(0, column - 1 - kBefore));
  const bool fits = utf8_length(line_text.substr(0, 4 * kLineCharacters)) <= kLineCharacters &&
                    line_text.size() <= 4 * kLineCharacters;
  if (fits) return {std::move(origin), line, column, std::string(line_text), length, 0};
  line_text.remove_prefix(utf8_offset(line_text, cut));
  line_text = line_text.substr(0, utf8_offset(line_text, kLineCharacters));
  return {std::move(origin), line, column, std::string(line_text), length, static_cast<int>(cut)};
}

std::string source_of(const Place& place) {
  if (place.origin.empty()) return "default";
  return place.line > 0 ? place.origin + ":" + std::to_string(place.line) : place.origin;
}

ErrorReport to_report(const Problem& problem) {
  return {problem.code, ExitCode::config, printable(problem.sentence), place_lines(problem),
          printable(problem.help)};
}

ConfigFailure::ConfigFailure(std::vector<Problem> problems, ExitCode exit,
                             const std::vector<ErrorReport>& rules, Where where)
    : Failure(fold(problems, exit, rules), where), problems_(std::move(problems)) {}

}  // namespace mgpu
