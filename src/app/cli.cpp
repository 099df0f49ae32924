// Keeps cxxopts from splitting arguments at commas: devices.gpus=1,3 is one value.
#define CXXOPTS_VECTOR_DELIMITER '\x1f'
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <cxxopts.hpp>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/config/nearest_name.hpp>

#include "line_checks.hpp"
#include "option_values.hpp"
#include "unknown_words.hpp"
#include "written_line.hpp"

namespace mgpu::app {
namespace {

constexpr const char* kPositional = "arguments";

bool is_yaml_name(std::string_view argument) {
  return argument == "-" || argument.ends_with(".yaml") || argument.ends_with(".yml");
}

class CommandLine {
public:
  CommandLine(int argc, const char* const* argv, const KeyTable& table)
      : line_(argc, argv), table_(table) {}

  Options parse() {
    problems_ = check_line(line_, table_);
    if (problems_.empty()) parse_with_cxxopts();
    if (problems_.empty()) check_positionals();
    if (!problems_.empty()) throw ConfigFailure(std::move(problems_), ExitCode::usage);
    return std::move(options_);
  }

private:
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
        problems_.push_back(unknown_option(line_, line_.find(unknown), unknown, table_));
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
    // If --select has reformatted the value, `shown` does not contain it, and the column is 1.
    const std::size_t at = found == std::string::npos ? 0 : found;
    const auto column = static_cast<int>(utf8_length(printable(shown).substr(0, at))) + 1;
    if (!first_setting_) first_setting_ = index;
    options_.overrides.push_back(
        {std::move(key), std::move(value), line_.origin(index), std::move(shown), column});
  }

  /// Refuses settings of the configuration together with --compare, and with --merge of one run
  /// directory, which use the settings of the runs.
  void refuse_settings(std::size_t index) {
    const bool is_merge = options_.action == Action::merge;
    const std::string run = line_.written(line_.find(options_.detail));
    add("E144",
        is_merge ? "--merge of one run directory takes no settings" : "--compare takes no settings",
        index,
        is_merge ? "--merge " + run + " uses the settings of the run"
                 : "--compare " + run + " " + options_.config + " uses the settings of the runs");
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
    const std::vector<std::size_t> files = find_files();
    if (files.size() > 1) {
      add("E141", "two configurations are given", files[1],
          "--with " + line_[files[1]] + " lays it over " + line_[files[0]]);
    }
    if (!files.empty()) options_.config = line_.written(files[0]);
    if (files.empty() && problems_.empty()) refuse_missing_file();
    const bool compares = options_.action == Action::compare && !files.empty();
    if (compares && first_setting_) refuse_settings(*first_setting_);
  }

  /// Returns the indices of the positional arguments that may be a file or a run directory, and
  /// adds problems for the others.
  std::vector<std::size_t> find_files() {
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
        problems_.push_back(unknown_word(line_, index));
      } else {
        files.push_back(index);
      }
    }
    return files;
  }

  /// Adds a problem if the action needs a configuration or a run directory. Called if no argument
  /// is a configuration or a run directory.
  void refuse_missing_file() {
    const Action action = options_.action;
    if (action == Action::export_rows) {
      add_missing("no run directory is given", "--export jsonl outputs/NAME/latest");
    } else if (action == Action::compare) {
      add_missing("only one run directory is given",
                  "--compare outputs/BEFORE/latest outputs/AFTER/latest");
    } else if (action == Action::run || action == Action::plan ||
               (action == Action::check && sets_keys_)) {
      add_missing("no configuration is given", configuration_to_give());
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

  void add_missing(std::string sentence, std::string help) {
    problems_.push_back({"E141", std::move(sentence), Place{"command line"}, "", std::move(help)});
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
