#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <mgpu/config/config_reader.hpp>

namespace mgpu {

/// Reads files for all ranks of a group: one rank reads, and all get the same bytes.
class FileProvider {
public:
  using Step = std::function<std::string()>;

  /// Returns a provider for this process alone, without MPI. For a group of ranks, use
  /// cluster::shared_files().
  static FileProvider alone();

  /// `share` runs a step on the rank that reads, and returns its result on every rank.
  /// `run_together` runs a step on every rank, and throws on all ranks if the step throws on any.
  FileProvider(std::function<std::string(const Step&)> share,
               std::function<void(const std::function<void()>&)> run_together);

  /// Returns the sources of a configuration whose files and variables this provider reads. `file`
  /// is the path of the configuration file. The caller sets overlays, overrides and rules.
  /// Memory: the provider has to outlive the sources.
  /// Ranks:  collective over the group.
  ConfigSources sources(std::string file) const;

  /// Returns the content of a file, or of standard input for "-". If the content is longer
  /// than the parser accepts, returns one byte more than this limit, so that the parser refuses it.
  ///
  /// Ranks:  collective over the group, in the same order on every rank.
  /// Errors: Failure E603 (exit 66) if the file cannot be read. With shared_files(), all ranks
  ///         throw it as a CollectiveFailure.
  std::string read(const std::filesystem::path& path) const;

  /// Returns the working directory of the rank that reads.
  /// Ranks:  collective over the group.
  std::filesystem::path working_directory() const;

  /// Returns an environment variable of the rank that reads; "" if it is not set.
  /// Ranks:  collective over the group.
  std::string variable(const std::string& name) const;

  /// Looks up a model that a key gives as a local path or as a name on the Hugging Face hub.
  /// Returns "" if `path` exists, because the key then means this path. Otherwise, returns the
  /// folder of the model `name` in the Hugging Face cache of the rank that reads; "" if the cache
  /// has no copy with a config.json.
  ///
  /// Ranks:  collective over the group.
  std::string find_model(const std::filesystem::path& path, const std::string& name) const;

  /// Runs `step` on every rank, and throws on all ranks if the step throws on any.
  /// Ranks:  collective over the group.
  /// Errors: those of `step`; with shared_files() a CollectiveFailure on all ranks.
  void run_together(const std::function<void()>& step) const { run_together_(step); }

private:
  std::function<std::string(const Step&)> share_;
  std::function<void(const std::function<void()>&)> run_together_;
};

}  // namespace mgpu
