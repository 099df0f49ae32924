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
  help,
  version
};

/// The command line, parsed. Everything about the work itself is a key of the configuration, so
/// options such as --gpus become `overrides`.
struct Options {
  Action action = Action::run;
  std::string detail{};  // argument of --plan, --print-config, --explain, --merge, --export
  std::string
      config{};  // CONF.yaml, "-" for standard input, "" for none; --export: a run directory
  std::vector<std::string> more_directories{};  // of --merge, after the first (`detail`)
  std::vector<std::string> overlays{};
  std::vector<Override> overrides{};
  std::string progress = "auto";  // auto | bar | lines | off
  std::string color = "auto";     // auto | always | never
  bool quiet = false;
  bool verbose = false;
  bool json = false;
};

enum class OptionKind { flag, value, optional_value };

/// One row of the table of options, which drives parsing, --help and their tests.
struct OptionRow {
  std::string_view name;  // "gpus-per-model", without dashes
  char letter;            // 'h', or 0
  OptionKind kind;
  std::string_view argument;    // in --help: "N", "auto|never|DIR"
  std::string_view choices{};   // "auto|bar|lines|off": the only values; "" for any
  std::string_view implicit{};  // used if an optional value is omitted
  std::string_view key{};       // the key that it sets
  std::string_view group;       // heading in --help
  std::string_view text;        // one line
};

std::span<const OptionRow> option_rows();

/// Returns the row of an option; nullptr if there is no option of that name.
const OptionRow* find_row(std::string_view name);

/// Reads the arguments; `_` and `-` are the same in the name of an option. `table` has the help for
/// options of other programs.
///
/// Errors: ConfigFailure (exit 64) with everything that is wrong with the command line itself:
///         E141 to E144. The keys and values of overrides are checked with the configuration.
Options parse_command_line(int argc, const char* const* argv, const KeyTable& table);

/// Returns the text of --help: at most 50 lines, examples first.
std::string help_text();

}  // namespace mgpu::app
