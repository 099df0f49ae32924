#include "line_checks.hpp"

#include <algorithm>
#include <string>

#include "unknown_words.hpp"

namespace mgpu::app {
namespace {

// In cxxopts, std::regex recurses for each character, so a long argument could overflow the stack.
constexpr std::size_t kMaxArgumentBytes = 4095;

std::vector<Problem> long_arguments(const WrittenLine& line) {
  std::vector<Problem> problems;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i].size() <= kMaxArgumentBytes) continue;
    problems.push_back({"E143",
                        "argument " + std::to_string(i) + " has " + std::to_string(line[i].size()) +
                            " bytes, and " + std::to_string(kMaxArgumentBytes) + " are allowed",
                        Place{"command line"}, "",
                        "put long values into the configuration: " +
                            line[i].substr(0, std::min<std::size_t>(line[i].find('='), 40)) +
                            " ..."});
  }
  return problems;
}

bool is_letter_of_an_option(char letter) {
  const auto rows = option_rows();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const OptionRow& row) { return row.letter == letter; });
}

std::vector<Problem> unknown_letters(const WrittenLine& line, const KeyTable& table) {
  std::vector<Problem> problems;
  for (std::size_t i = 1; i < line.size() && line[i] != "--"; ++i) {
    const std::string& text = line[i];
    const OptionRow* before = find_row(long_name(line[i - 1]));
    const bool is_value = before != nullptr && before->kind == OptionKind::value;
    const bool has_letters = text.size() > 1 && text[0] == '-' && text[1] != '-' && !is_value;
    if (has_letters && !std::all_of(text.begin() + 1, text.end(), is_letter_of_an_option))
      problems.push_back(unknown_option(line, i, text, table));
  }
  return problems;
}

std::vector<Problem> open_values(const WrittenLine& line) {
  std::vector<Problem> problems;
  for (std::size_t i = 1; i < line.size() && line[i] != "--"; ++i) {
    const OptionRow* row = find_row(long_name(line[i]));
    const bool takes_next =
        row != nullptr && row->kind == OptionKind::value && line[i].find('=') == std::string::npos;
    if (!takes_next) continue;
    const bool is_open = i + 1 == line.size() || line[i + 1].starts_with("--");
    const std::string name = "--" + std::string(row->name);
    if (is_open)
      problems.push_back({"E143", name + " needs a value", line.place(i), "",
                          name + " " + std::string(row->argument)});
    else
      ++i;
  }
  return problems;
}

}  // namespace

std::vector<Problem> check_line(const WrittenLine& line, const KeyTable& table) {
  std::vector<Problem> problems = long_arguments(line);
  if (problems.empty()) problems = unknown_letters(line, table);
  if (problems.empty()) problems = open_values(line);
  return problems;
}

}  // namespace mgpu::app
