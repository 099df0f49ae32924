// Keeps cxxopts from splitting arguments at commas: devices.gpus=1,3 is one value.
#define CXXOPTS_VECTOR_DELIMITER '\x1f'
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <cxxopts.hpp>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/config/nearest_name.hpp>

#include "option_values.hpp"
#include "written_line.hpp"

namespace mgpu::app {
namespace {

constexpr const char* kPositional = "arguments";
// std::regex in cxxopts recurses for each character, so a long argument could overflow the stack.
constexpr std::size_t kMaxArgumentBytes = 4095;

bool is_yaml_name(std::string_view argument) {
  return argument == "-" || argument.ends_with(".yaml") || argument.ends_with(".yml");
}

std::string option_name_suggestion(const std::string& name) {
  std::vector<std::string> names;
  for (const OptionRow& row : option_rows()) {
    if (name.size() > 2 && row.name.starts_with(name)) return std::string(row.name);
    names.emplace_back(row.name);
  }
  return nearest_name(name, names);
}

class CommandLine {
public:
  CommandLine(int argc, const char* const* argv, const KeyTable& table)
      : line_(argc, argv), table_(table) {}

  Options parse() {
    refuse_long_arguments();
    if (problems_.empty()) refuse_letters();
    if (problems_.empty()) refuse_open_values();
    if (problems_.empty()) parse_with_cxxopts();
    if (problems_.empty()) check_positionals();
    if (!problems_.empty()) throw ConfigFailure(std::move(problems_), ExitCode::usage);
    return std::move(options_);
  }

private:
  void refuse_long_arguments() {
    for (std::size_t i = 1; i < line_.size(); ++i) {
      if (line_[i].size() <= kMaxArgumentBytes) continue;
      problems_.push_back(
          {"E143",
           "argument " + std::to_string(i) + " has " + std::to_string(line_[i].size()) +
               " bytes, and " + std::to_string(kMaxArgumentBytes) + " are allowed",
           Place{"command line"}, "",
           "put long values into the configuration: " +
               line_[i].substr(0, std::min<std::size_t>(line_[i].find('='), 40)) + " ..."});
    }
  }

  /// Refuses an argument with one dash, such as "-gpus", if one of its letters is not an option.
  /// cxxopts would read each letter as an option.
  void refuse_letters() {
    for (std::size_t i = 1; i < line_.size() && line_[i] != "--"; ++i) {
      const std::string& text = line_[i];
      const OptionRow* before = find_row(long_name(line_[i - 1]));
      const bool is_value = before != nullptr && before->kind == OptionKind::value;
      const bool has_letters = text.size() > 1 && text[0] == '-' && text[1] != '-' && !is_value;
      const auto is_known = [](char letter) {
        const auto rows = option_rows();
        return std::any_of(rows.begin(), rows.end(),
                           [&](const OptionRow& row) { return row.letter == letter; });
      };
      if (!has_letters || std::all_of(text.begin() + 1, text.end(), is_known)) continue;
      refuse_option(text, i);
    }
  }

  /// Refuses an option whose required value is missing, because cxxopts would take the next option
  /// as the value.
  void refuse_open_values() {
    for (std::size_t i = 1; i < line_.size(); ++i) {
      const OptionRow* row = find_row(long_name(line_[i]));
      const bool takes_next = row != nullptr && row->kind == OptionKind::value &&
                              line_[i].find('=') == std::string::npos;
      if (!takes_next) continue;
      const bool is_open = i + 1 == line_.size() || line_[i + 1].starts_with("--");
      if (is_open) {
        add("E143", "--" + std::string(row->name) + " needs a value", i,
            "--" + std::string(row->name) + " " + std::string(row->argument));
      } else {
        ++i;
      }
    }
  }

  static cxxopts::Options declare() {
    cxxopts::Options declared("mgpu_spmd");
    for (const OptionRow& row : option_rows()) {
      const std::string letter = row.letter == 0 ? "" : std::string(1, row.letter) + ",";
      std::shared_ptr<cxxopts::Value> kind = cxxopts::value<bool>();
      if (row.kind == OptionKind::value) kind = cxxopts::value<std::vector<std::string>>();
      if (row.kind == OptionKind::optional_value) {
        kind = cxxopts::value<std::string>()->implicit_value(std::string(row.implicit));
      }
      declared.add_options()(letter + std::string(row.name), std::string(row.text), kind);
    }
    declared.add_options()(kPositional, "", cxxopts::value<std::vector<std::string>>());
    declared.parse_positional({kPositional});
    declared.allow_unrecognised_options();
    return declared;
  }

  void parse_with_cxxopts() {
    std::vector<const char*> argv;
    for (std::size_t i = 0; i < line_.size(); ++i)
      argv.push_back(line_[i].c_str());
    cxxopts::Options declared = declare();
    try {
      const cxxopts::ParseResult result =
          declared.parse(static_cast<int>(argv.size()), argv.data());
      for (const std::string& unknown : result.unmatched())
        refuse_option(unknown, line_.find(unknown));
      for (const cxxopts::KeyValue& argument : result.arguments())
        take(argument.key(), argument.value());
    } catch (const cxxopts::exceptions::exception& error) {
      problems_.push_back({"E143", error.what(), Place{"command line"}, "", "--help"});
    }
  }

  /// Handles one option or argument. Calls come in the order of the command line.
  void take(const std::string& name, const std::string& value) {
    if (name == kPositional) {
      take_positional(value);
      return;
    }
    const OptionRow& row = *find_row(name);
    const std::size_t index = line_.take_option(row, value);
    const std::vector<std::string> choices = split_at(row.choices, '|');
    const bool known =
        choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
    if (!known) {
      const std::string nearest = nearest_name(value, choices);
      add("E143", "--" + name + " does not know \"" + value + "\"", index,
          nearest.empty() ? "one of: " + std::string(row.choices)
                          : "did you mean `" + nearest + "`?");
      return;
    }
    apply(row, value, index);
  }

  void apply(const OptionRow& row, const std::string& value, std::size_t index) {
    if (!row.key.empty()) {
      add_override(std::string(row.key), value, index, line_.option_at(index, value));
    } else if (row.name == "set") {
      take_set(value, index);
    } else if (row.name == "only") {
      take_only(value, index);
    } else if (row.name == "select") {
      take_select(value, index);
    } else if (row.name == "with") {
      options_.overlays.push_back(value);
      if (!first_setting_) first_setting_ = index;
    } else if (row.name == "progress") {
      options_.progress = value;
    } else if (row.name == "color") {
      options_.color = value;
    } else if (row.name == "quiet") {
      options_.quiet = true;
    } else if (row.name == "verbose") {
      options_.verbose = true;
    } else if (row.name == "json") {
      options_.json = true;
    } else {
      choose_action(row, value, index);
    }
  }

  void choose_action(const OptionRow& row, const std::string& value, std::size_t index) {
    static constexpr std::pair<std::string_view, Action> kActions[] = {
        {"check", Action::check},
        {"plan", Action::plan},
        {"print-config", Action::print_config},
        {"explain", Action::explain},
        {"env", Action::environment},
        {"merge", Action::merge},
        {"export", Action::export_rows},
        {"compare", Action::compare},
        {"help", Action::help},
        {"version", Action::version}};
    const auto* chosen = std::find_if(std::begin(kActions), std::end(kActions),
                                      [&](const auto& pair) { return pair.first == row.name; });
    if (options_.action == Action::help) return;  // --help overrides the other actions
    const bool conflict = options_.action != Action::run && options_.action != chosen->second &&
                          chosen->second != Action::help;
    if (conflict) {
      add("E144", "--" + std::string(row.name) + " and --" + action_name_ + " exclude each other",
          index, "give one of them");
      return;
    }
    options_.action = chosen->second;
    options_.detail = row.kind == OptionKind::flag ? "" : value;
    action_name_ = row.name;
  }

  void take_set(const std::string& text, std::size_t index) {
    if (!is_override(text)) {
      add("E143", "--set needs KEY=VALUE", index, "--set train.max_steps=100");
      return;
    }
    take_override(text, index);
  }

  void take_only(const std::string& text, std::size_t index) {
    const std::optional<WrittenPart> part = parse_part(text);
    if (!part) {
      add("E143", "--only needs I/N", index, "--only 0/4 is the first of four parts");
      return;
    }
    const std::string shown = line_.option_at(index, text);
    add_override("run.worker_id", part->index, index, shown);
    add_override("run.total_workers", part->count, index, shown);
  }

  void take_select(const std::string& text, std::size_t index) {
    const std::optional<std::string> mapping = parse_selection(text);
    if (mapping)
      add_override(select_key(), *mapping, index, line_.option_at(index, text));
    else
      add("E143", "--select needs NAME=VALUE, or several of them with commas", index,
          "--select algorithm=pita,round=0");
  }

  /// Returns the key that --select sets: the first key of `table_` whose name ends in ".select".
  /// In the key table of the program, this key is experiment.select.
  std::string select_key() const {
    for (const KeySpec& spec : table_.keys())
      if (spec.name.ends_with(".select")) return spec.name;
    return "select";
  }

  void take_override(const std::string& text, std::size_t index) {
    sets_keys_ = true;
    const std::size_t equals = text.find('=');
    add_override(text.substr(0, equals), text.substr(equals + 1), index, text);
  }

  void add_override(std::string key, std::string value, std::size_t index, std::string shown) {
    const std::string printed = printable(value);
    const std::size_t found = printable(shown).rfind(printed);
    // `shown` does not contain a value that --select has reformatted. Then the column is 1.
    const std::size_t at = found == std::string::npos ? 0 : found;
    const auto column = static_cast<int>(utf8_length(printable(shown).substr(0, at))) + 1;
    if (!first_setting_) first_setting_ = index;
    options_.overrides.push_back(
        {std::move(key), std::move(value), line_.origin(index), std::move(shown), column});
  }

  /// Refuses settings of the configuration together with --merge of one run directory, which uses
  /// the settings of that run.
  void refuse_settings(std::size_t index) {
    add("E144", "--merge of one run directory takes no settings", index,
        "--merge " + line_.written(line_.find(options_.detail)) + " uses the settings of the run");
  }

  void take_positional(const std::string& text) {
    const std::size_t index = line_.take_word(text);
    if (is_override(text)) {
      take_override(text, index);
    } else {
      positionals_.push_back(index);
    }
  }

  /// Handles the arguments that belong to no option and are not KEY=VALUE:
  /// - with --merge, all run directories after the first one
  /// - with --export, the run directory
  /// - with --compare, the second run directory
  /// - with other actions, the configuration
  ///
  /// Adds problems for missing and superfluous arguments.
  void check_positionals() {
    if (options_.action == Action::merge) {
      for (const std::size_t index : positionals_)
        options_.more_directories.push_back(line_.written(index));
      if (positionals_.empty() && first_setting_) refuse_settings(*first_setting_);
      return;
    }
    std::vector<std::size_t> files;
    for (const std::size_t index : positionals_) {
      const std::string& text = line_[index];
      const OptionRow* before = find_row(long_name(line_[index - 1]));
      const bool meant_for_option = before != nullptr && !is_yaml_name(text) &&
                                    before->kind == OptionKind::optional_value &&
                                    line_[index - 1].find('=') == std::string::npos;
      if (meant_for_option) {
        add("E144", "\"" + text + "\" is neither the configuration nor KEY=VALUE", index,
            "did you mean --" + std::string(before->name) + "=" + text + "?");
      } else if (text.empty() || (!files.empty() && !is_yaml_name(text))) {
        refuse_word(text, index);
      } else {
        files.push_back(index);
      }
    }
    if (files.size() > 1) {
      add("E141", "two configurations are given", files[1],
          "--with " + line_[files[1]] + " lays it over " + line_[files[0]]);
    }
    if (!files.empty()) options_.config = line_.written(files[0]);
    if (options_.action == Action::export_rows && files.empty() && problems_.empty()) {
      problems_.push_back({"E141", "no run directory is given", Place{"command line"}, "",
                           "--export jsonl outputs/NAME/latest"});
    }
    if (options_.action == Action::compare && files.empty() && problems_.empty()) {
      problems_.push_back({"E141", "only one run directory is given", Place{"command line"}, "",
                           "--compare outputs/BEFORE/latest outputs/AFTER/latest"});
    }
    const bool needs_config = options_.action == Action::run || options_.action == Action::plan ||
                              (options_.action == Action::check && sets_keys_);
    if (needs_config && files.empty() && problems_.empty()) {
      problems_.push_back({"E141", "no configuration is given", Place{"command line"}, "",
                           configuration_to_give()});
    }
  }

  /// Returns the help for a command line without a configuration. If run.resume is a path of a run,
  /// the help names the copy of the configuration in that run.
  std::string configuration_to_give() const {
    for (const Override& given : options_.overrides)
      if (given.key == "run.resume" && given.value.find('/') != std::string::npos)
        return "give that run's: " + given.value + "/repro/config.resolved.yaml";
    return "mpirun -np 2 ./mgpu_spmd conf/train/quickstart.yaml, or --help";
  }

  void refuse_word(const std::string& text, std::size_t index) {
    std::string name = text;
    std::replace(name.begin(), name.end(), '_', '-');
    const bool is_option = find_row(name) != nullptr;
    const bool is_key = text.find('.') != std::string::npos;
    std::string help = "write KEY=VALUE, or --help";
    if (is_option) help = "did you mean --" + name + "?";
    if (!is_option && is_key) help = "write " + text + "=VALUE, without blanks around the =";
    if (text.find('=') != std::string::npos) help = "a key has letters, digits, _, - and dots";
    add("E144", "\"" + text + "\" is neither the configuration nor KEY=VALUE", index,
        std::move(help));
  }

  void refuse_option(const std::string& unknown, std::size_t index) {
    // -gpus lacks the second dash of a long option.
    const std::string name = long_name(unknown.starts_with("--") ? unknown : "-" + unknown);
    add("E142", "unknown option " + unknown, index, help_for_option(name, index));
  }

  /// Returns the KEY=VALUE that an unknown option may mean, such as train.max_steps=10 for
  /// --max_steps 10. `key` is the name of a key, or the last part of such a name. Several matches
  /// are joined by " or ". Returns "" if no key matches.
  std::string setting_for_option(const std::string& key, std::size_t index) const {
    const std::string& argument = line_[index];
    const std::size_t equals = argument.find('=');
    std::string value = equals == std::string::npos ? "VALUE" : argument.substr(equals + 1);
    const bool has_next = equals == std::string::npos && index + 1 < line_.size();
    if (has_next && !line_[index + 1].starts_with("-") && !is_override(line_[index + 1]))
      value = line_[index + 1];
    std::string settings;
    for (const KeySpec& spec : table_.keys())
      if (spec.name == key || spec.name.ends_with("." + key))
        settings += (settings.empty() ? "" : " or ") + spec.name + "=" + value;
    return settings;
  }

  std::string help_for_option(const std::string& name, std::size_t index) const {
    std::string key = name;
    std::replace(key.begin(), key.end(), '-', '_');
    if (name == "np" || name == "n") return "that is mpirun's: mpirun -np 2 ./mgpu_spmd ...";
    if (name.starts_with("dry")) return "--plan shows the work, --check looks for mistakes first";
    if (const ForeignName* foreign = table_.find_foreign(key)) return foreign->help;
    const std::string nearest = option_name_suggestion(name);
    const std::string setting = setting_for_option(key, index);
    const std::string set_key = setting.empty() ? "" : "a key has no dashes: " + setting;
    if (nearest.empty() && !set_key.empty()) return set_key;
    if (!nearest.empty())
      return "did you mean --" + nearest + "?" + (set_key.empty() ? "" : " Or " + set_key);
    return "--help shows all options; a key is written without dashes: KEY=VALUE";
  }

  void add(std::string code, std::string sentence, std::size_t index, std::string help) {
    problems_.push_back(
        {std::move(code), std::move(sentence), line_.place(index), "", std::move(help)});
  }

  WrittenLine line_;
  const KeyTable& table_;
  std::vector<std::size_t> positionals_;
  bool sets_keys_ = false;                    // true: KEY=VALUE or --set KEY=VALUE is given
  std::optional<std::size_t> first_setting_;  // index of the first argument that changes the
                                              // configuration; nullopt if there is no such argument
  std::string action_name_;
  Options options_;
  std::vector<Problem> problems_;
};

}  // namespace

Options parse_command_line(int argc, const char* const* argv, const KeyTable& table) {
  return CommandLine(argc, argv, table).parse();
}

}  // namespace mgpu::app
