#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_reader.hpp>

namespace mgpu {

/// The result of checking one source, which is a file or the command line. `values` has the valid
/// values by canonical key name. `meant` has all keys that the source tries to set, even with a
/// wrong value or a misspelled name. `wrong` has the keys that have no valid value because of a
/// problem. `has_unknown_names` is true if it is unknown which key a problem concerns, for example
/// because a name resembles no key.
struct ConfigLayer {
  std::map<std::string, Config::Value, std::less<>> values;
  std::vector<Problem> problems;
  std::vector<std::string> notes;
  std::set<std::string, std::less<>> meant;
  std::set<std::string, std::less<>> wrong;
  bool has_unknown_names = false;
};

/// Checks the names, sections, types and ranges in one source of a configuration against the table
/// of keys. The source is a file or the command line.
class KeyChecker {
public:
  /// Results go to `layer`. Relative paths in the source start at `folder`. Variables in paths are
  /// read with `sources.variable`. The check of a file stops after kMaxProblems problems.
  KeyChecker(const KeyTable& table, const ConfigSources& sources, std::filesystem::path folder,
             ConfigLayer& layer)
      : table_(table), sources_(sources), folder_(std::move(folder)), layer_(layer) {}

  void check_file(const YamlNode& root);
  void check_override(const Override& change);

private:
  static constexpr std::size_t kMaxProblems = 200;

  void check_section(const YamlNode& section, const std::string& name);
  void check_entry(const YamlNode& entry, const std::string& called);
  void set(const KeySpec& spec, std::string_view called, const Place& key_place,
           const YamlNode& node);
  void store_path(const KeySpec& spec, const std::string& text, const YamlNode& node,
                  const Place& place);
  std::optional<YamlNode> without_escapes(const KeySpec& spec, const YamlNode& node);
  bool note_accepted(std::string_view called, const Place& key_place);
  void refuse_unknown(std::string_view called, const Place& key_place);
  bool has_near_sibling(std::string_view called) const;
  bool refuse_misplaced(std::string_view called, const Place& key_place);
  bool refuse_foreign(std::string_view called, const Place& key_place);
  Place place_of_section(std::string_view name) const;
  void add(Problem problem, const std::vector<std::string>& wrong = {});

  const KeyTable& table_;
  const ConfigSources& sources_;
  std::filesystem::path folder_;
  ConfigLayer& layer_;
  const YamlNode* root_ = nullptr;  // root node of the file that is being checked
};

/// Returns the key or section that an unknown name probably stands for, or "" if no name is similar
/// enough.
std::string suggest_key(const KeyTable& table, std::string_view called);

}  // namespace mgpu
