#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config_reader.hpp>

namespace mgpu::app {

enum class Action {
  run,
  check,
  plan,
  print_config,
  explain,
  environment,
  merge,
  export_rows,
  compare,
  help,
  version
};

/// The parsed command line. An option that sets a configuration key, such as --gpus, becomes an
/// element of `overrides`.
struct Options {
  Action action = Action::run;
  std::string detail{};  // argument of --plan, --print-config, --explain, --merge, --export,
                         // --compare
  std::string
      config{};  // CONF.yaml, "-" for standard input, "" for none; --export: a run directory;
                 // --compare: the second run directory
  std::vector<std::string> more_directories{};  // --merge: directories after the first (`detail`)
  std::vector<std::string> overlays{};
  std::vector<Override> overrides{};
  std::string progress = "auto";  // auto | bar | lines | off
  std::string color = "auto";     // auto | always | never
  bool quiet = false;
  bool verbose = false;
  bool json = false;
};

enum class OptionKind { flag, value, optional_value };

/// One row of the table of options. Parsing, --help and their tests use this table.
struct OptionRow {
  std::string_view name;  // "gpus-per-model", without dashes
  char letter;            // 'h'; 0: no short form
  OptionKind kind;
  std::string_view argument;    // in --help: "N", "auto|never|DIR"
  std::string_view choices{};   // allowed values: "auto|bar|lines|off"; "": any value
  std::string_view implicit{};  // kind optional_value: the value if the user gives none
  std::string_view key{};       // configuration key that the option sets; "" for none
  std::string_view group;       // heading in --help
  std::string_view text;        // text about the option in --help
};

std::span<const OptionRow> option_rows();

/// Returns the row of the option `name` (without dashes); nullptr if there is no such option.
const OptionRow* find_row(std::string_view name);

/// Parses the command line. In the name of an option `_` and `-` are the same. `table` has the
/// configuration keys. The option --select sets the first key of the table whose name ends in
/// ".select". Error messages suggest keys of the table.
///
/// Errors: ConfigFailure E141 to E144 (exit 64) with one or more mistakes of the command line. The
///         keys and values in Options::overrides are checked later, by load_config().
Options parse_command_line(int argc, const char* const* argv, const KeyTable& table);

/// Returns the text of --help: usage, examples and all options, in at most 50 lines.
std::string help_text();

}  // namespace mgpu::app
