#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/path_text.hpp>

namespace mgpu {

/// One change from the command line: KEY=VALUE, or an option that sets a key, such as --gpus.
struct Override {
  std::string key;         // "train.max_steps"
  std::string value;       // as the shell gave it
  std::string origin{};    // "command line, argument 3"
  std::string argument{};  // as typed: "train.max_steps=5", "--gpus 1,3"
  int value_column = 1;    // where the value begins in `argument`, from 1
};

/// All sources of a configuration, lowest priority first: built-in defaults, `file`, `overlays`,
/// `overrides`. A file has a higher priority than the files that it includes.
struct ConfigSources {
  std::string file{};                   // "": no file; "-": stdin
  std::vector<std::string> overlays{};  // --with
  std::vector<Override> overrides{};
  std::filesystem::path working_directory{};  // absolute; the command line's paths start here

  /// Reads a file, or standard input for "-", and gives every rank the same bytes. All ranks call
  /// it for the same files in the same order.
  /// Errors: Failure E603 when the file cannot be read.
  std::function<std::string(const std::filesystem::path&)> read{};

  /// Reads an environment variable for `~`, `$NAME` and `${NAME}` in paths. All ranks call it for
  /// the same names in the same order. Without this function, all variables count as unset.
  ReadVariable variable{};

  /// Finds the folder of a model for a key that gives a path or a name. If the folder `path`
  /// exists, or if the local Hugging Face cache does not have the model `name`, returns "", and
  /// read_config() uses `path`. Otherwise, returns the folder of the model in the cache, which
  /// read_config() uses instead of `path`. All ranks call it with the same arguments in the same
  /// order. Without this function, no cache is searched.
  std::function<std::string(const std::filesystem::path& path, const std::string& name)>
      find_model{};

  /// Checks the rules about several keys; throws Failure if a rule is broken. read_config() calls
  /// `rules` only if the sources have mistakes and every file was parsed to its end. It reports the
  /// broken rules together with these mistakes. If the sources have no mistake, the caller of
  /// read_config() has to check the rules. In the call by read_config(), the getters of the Config
  /// argument throw RefusedKey for keys that have no valid value.
  std::function<void(const Config&)> rules{};
};

/// Reads all sources and checks every value, including values that a source of higher priority
/// replaces.
///
/// First, expand_path() replaces `~` and environment variables in paths that are not defaults. Then
/// paths become absolute. A path in a file is relative to the folder of that file. A path of
/// standard input, of the command line or of a default is relative to the working directory.
///
/// Memory: `table` has to outlive the config.
/// Errors: ConfigFailure (exit 78) if a source has a mistake. It shows the mistakes of all sources,
///         and the rules that the valid values break. Failure E603 (exit 66) when `file` or an
///         overlay cannot be read.
Config read_config(const KeyTable& table, const ConfigSources& sources);

}  // namespace mgpu
