// Tests that each single edit of a key is refused unless it is another key. At least 99 % of the
// messages must suggest the right key.
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/config/config_reader.hpp>

#include "config_test_table.hpp"

namespace mgpu {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";

/// Returns all words that one deletion, swap, replacement or insertion makes from `word`.
std::set<std::string> single_edits(const std::string& word) {
  std::set<std::string> edits;
  for (std::size_t i = 0; i <= word.size(); ++i) {
    const std::string head = word.substr(0, i);
    const std::string tail = word.substr(i);
    if (!tail.empty()) edits.insert(head + tail.substr(1));
    if (tail.size() > 1) edits.insert(head + tail[1] + tail[0] + tail.substr(2));
    for (const char letter : kLetters) {
      edits.insert(head + letter + tail);
      if (!tail.empty()) edits.insert(head + letter + tail.substr(1));
    }
  }
  edits.erase(word);
  edits.erase("");
  return edits;
}

std::string yaml_with(const std::string& section, const std::string& key) {
  return section.empty() ? "\"" + key + "\": 1\n" : section + ":\n  \"" + key + "\": 1\n";
}

/// Returns the text after the caret, the help and the column of the first problem of `text`.
/// Returns "" if the text is accepted.
std::string answer(const KeyTable& table, const std::string& text) {
  ConfigSources sources;
  sources.file = "run.yaml";
  sources.working_directory = "/";
  sources.read = [&](const std::filesystem::path&) { return text; };
  try {
    (void)read_config(table, sources);
    return "";
  } catch (const ConfigFailure& failure) {
    const Problem& problem = failure.problems().front();
    return problem.under + problem.help + " at " + std::to_string(problem.place.column);
  }
}

TEST(ConfigTyposTest, EverySingleEditIsRefusedAndNearlyAllAreUnderstood) {
  KeyTable table = config_test_table();
  int typos = 0;
  int understood = 0;
  for (const KeySpec& spec : table.keys()) {
    const std::size_t dot = spec.name.rfind('.');
    const std::string section = dot == std::string::npos ? "" : spec.name.substr(0, dot);
    const std::string key = spec.name.substr(dot + 1);
    const std::string prefix = section.empty() ? "" : section + ".";
    for (const std::string& typo : single_edits(key)) {
      const bool is_valid = table.find_called(prefix + typo) != nullptr;
      if (is_valid) continue;
      const std::string said = answer(table, yaml_with(section, typo));
      EXPECT_NE(said, "") << prefix << typo << " was accepted";
      ++typos;
      understood += said.find("did you mean `" + key + "`?") != std::string::npos ? 1 : 0;
    }
  }
  RecordProperty("typos", typos);
  RecordProperty("understood", understood);
  std::cout << understood << " of " << typos << " typos were understood\n";
  EXPECT_GT(typos, 5000);
  EXPECT_GE(understood, typos - typos / 100);
}

}  // namespace
}  // namespace mgpu
