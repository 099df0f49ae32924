#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_reader.hpp>
#include <mgpu/config/path_text.hpp>
#include <mgpu/config/yaml_document.hpp>

#include "key_checker.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kIncludeDepth = 8;
constexpr const char* kStdin = "standard input";

void sort_by_place(std::vector<Problem>& problems) {
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
}

class ConfigReader {
public:
  ConfigReader(const KeyTable& table, const ConfigSources& sources)
      : table_(table), sources_(sources) {}

  Config read() {
    if (!sources_.file.empty()) read_file(sources_.file, {});
    for (const std::string& overlay : sources_.overlays)
      read_file(overlay, {});
    read_overrides();
    if (complete_) require_keys();
    make_default_paths_absolute();
    find_models();
    if (!problems_.empty()) refuse();
    return {table_, std::move(values_), std::move(notes_)};
  }

private:
  [[noreturn]] void refuse() {
    std::vector<ErrorReport> rules;
    try {
      if (complete_ && sources_.rules) sources_.rules({table_, values_, refused_keys()});
    } catch (const CombinedFailure& failures) {
      rules = failures.reports();
    } catch (const Failure& failure) {
      rules = {failure.report()};
    } catch (const RefusedKey&) {
      rules.clear();  // the rules can be checked once the values are right
    }
    throw ConfigFailure(std::move(problems_), ExitCode::config, rules);
  }

  /// Returns the keys whose values the rules cannot use: keys with a wrong value, and required keys
  /// that are missing. A name that is not recognized may be a misspelled key. So if a source has
  /// such a name, the result also has all other keys without a value.
  std::set<std::string, std::less<>> refused_keys() const {
    std::set<std::string, std::less<>> refused = wrong_;
    for (const KeySpec& spec : table_.keys()) {
      const bool is_there = values_.contains(spec.name);
      if (!is_there && (spec.required || has_unknown_names_)) refused.insert(spec.name);
    }
    return refused;
  }

  /// Reads the file `name` after the files that it includes, so that values in `name` take
  /// priority. `chain` lists the files whose `include` led to `name`.
  void read_file(const std::string& name, std::vector<fs::path> chain) {
    const bool is_stdin = name == "-";
    const std::string origin = is_stdin ? kStdin : name;
    const fs::path path = is_stdin ? fs::path(name) : sources_.working_directory / name;
    read_text(sources_.read(path), origin, path, std::move(chain));
  }

  void read_text(const std::string& text, const std::string& origin, const fs::path& path,
                 std::vector<fs::path> chain) {
    YamlDocument document = read_yaml(text, origin);
    complete_ = complete_ && document.complete;
    ConfigLayer layer;
    layer.problems = std::move(document.problems);
    const fs::path folder = origin == kStdin ? sources_.working_directory : path.parent_path();
    const bool is_empty = document.root.kind == YamlNode::Kind::null;
    if (is_empty && layer.problems.empty()) {
      layer.problems.push_back({"E108", "the file is empty", Place{origin}});
    }
    chain.push_back(path.lexically_normal());
    complete_ = complete_ && document.root.kind == YamlNode::Kind::mapping;
    if (!is_empty) {
      read_includes(document.root, folder, origin, chain, layer.problems);
      KeyChecker(table_, sources_, folder, layer).check_file(document.root);
    }
    sort_by_place(layer.problems);
    lay_over(std::move(layer));
  }

  void read_includes(const YamlNode& root, const fs::path& folder, const std::string& origin,
                     const std::vector<fs::path>& chain, std::vector<Problem>& problems) {
    const auto found = std::find_if(root.items.begin(), root.items.end(),
                                    [](const auto& entry) { return entry.key == "include"; });
    if (found == root.items.end() || table_.find("include") == nullptr) return;
    std::vector<YamlNode> names = found->items;
    if (found->kind == YamlNode::Kind::scalar) names = {*found};
    for (const YamlNode& name : names) {
      // KeyChecker::check_file() reports E104 for names that are not text.
      if (name.kind != YamlNode::Kind::scalar || name.text.empty()) continue;
      const auto expanded = expand_path(name.text, sources_.variable);
      if (const auto* problem = std::get_if<ValueProblem>(&expanded)) {
        problems.push_back({problem->code, "a path in `include` cannot be read", name.place,
                            problem->under, problem->help});
        continue;
      }
      const fs::path path = (folder / std::get<std::string>(expanded)).lexically_normal();
      const bool is_cycle = std::find(chain.begin(), chain.end(), path) != chain.end();
      if (is_cycle || chain.size() > kIncludeDepth) {
        problems.push_back({"E113",
                            is_cycle ? "this file includes itself"
                                     : "files include each other more than 8 levels deep",
                            name.place});
        continue;
      }
      include(name, path, origin, chain, problems);
    }
  }

  void include(const YamlNode& name, const fs::path& path, const std::string& origin,
               const std::vector<fs::path>& chain, std::vector<Problem>& problems) {
    std::string text;
    try {
      text = sources_.read(path);
    } catch (const Failure& failure) {
      problems.push_back({"E113", "an included file cannot be read", name.place,
                          failure.report().sentence,
                          "a path in `include` starts at the folder of " + origin});
      return;
    }
    const std::string shown = (fs::path(origin).parent_path() / name.text).lexically_normal();
    read_text(text, shown, path, chain);
  }

  void read_overrides() {
    ConfigLayer layer;
    KeyChecker checker(table_, sources_, sources_.working_directory, layer);
    for (const Override& change : sources_.overrides)
      checker.check_override(change);
    lay_over(std::move(layer));
  }

  void lay_over(ConfigLayer layer) {
    for (auto& [name, value] : layer.values)
      if (name != "include") values_[name] = std::move(value);
    meant_.merge(layer.meant);
    wrong_.merge(layer.wrong);
    has_unknown_names_ = has_unknown_names_ || layer.has_unknown_names;
    std::move(layer.problems.begin(), layer.problems.end(), std::back_inserter(problems_));
    std::move(layer.notes.begin(), layer.notes.end(), std::back_inserter(notes_));
  }

  /// Adds a problem for each required key that is missing. A key with a wrong value already has a
  /// problem.
  void require_keys() {
    for (const KeySpec& spec : table_.keys()) {
      if (!spec.required || meant_.contains(spec.name)) continue;
      const std::string origin = sources_.file.empty() ? "command line" : shown_name();
      const std::string what =
          spec.name + (sources_.file.empty() ? "=" : ": ") + spec.default_value;
      problems_.push_back({"E114", "`" + spec.name + "` is missing", Place{origin}, "",
                           "add `" + what + "` (" + spec.summary + ")"});
    }
  }

  std::string shown_name() const { return sources_.file == "-" ? kStdin : sources_.file; }

  void make_default_paths_absolute() {
    for (const KeySpec& spec : table_.keys()) {
      if (spec.type != KeyType::path || values_.contains(spec.name)) continue;
      const KeyValue value = default_value(spec);
      if (value.is_word || !is_path(spec, value.text)) continue;
      const fs::path path = (sources_.working_directory / value.text).lexically_normal();
      values_[spec.name] = {.text = path.string()};
    }
  }

  /// Looks up the model of each model key (KeySpec::is_model) whose path does not exist. If the
  /// value names a model in the Hugging Face cache, replaces the value by the model's folder in the
  /// cache, and adds a note.
  void find_models() {
    for (const KeySpec& spec : table_.keys()) {
      const auto found = values_.find(spec.name);
      if (!spec.is_model || found == values_.end() || !sources_.find_model) continue;
      Config::Value& value = found->second;
      if (value.written.empty()) continue;
      const std::string folder = sources_.find_model(value.text, value.written);
      if (folder.empty()) continue;
      value.text = folder;
      notes_.push_back(source_of(value.place) + ": `" + spec.name + "` " + value.written +
                       " is taken from the Hugging Face cache: " + folder);
    }
  }

  const KeyTable& table_;
  const ConfigSources& sources_;
  std::map<std::string, Config::Value, std::less<>> values_;
  std::set<std::string, std::less<>> meant_;
  std::set<std::string, std::less<>> wrong_;
  bool has_unknown_names_ = false;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
  bool complete_ = true;  // false: a file was not read to its end, or is no mapping
};

}  // namespace

Config read_config(const KeyTable& table, const ConfigSources& sources) {
  return ConfigReader(table, sources).read();
}

}  // namespace mgpu
