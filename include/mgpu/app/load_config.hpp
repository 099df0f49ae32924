#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <mgpu/app/cli.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu::app {

/// Reads files for all ranks of a group: one rank reads, and all get the same bytes.
class FileProvider {
public:
  /// Returns a provider for this process alone, without MPI.
  static FileProvider alone();

  /// Returns a provider for `group`: rank 0 reads and broadcasts. `group` has to outlive the
  /// provider.
  static FileProvider shared(const cluster::Group& group);

  /// Returns the content of a file, or of standard input for "-". If the content is too long for a
  /// configuration, returns only its start, with one byte more than the parser accepts.
  ///
  /// Ranks:  collective over the group, in the same order on every rank.
  /// Errors: Failure E603 (exit 66) if the file cannot be read. With shared(), all ranks throw it
  ///         as a CollectiveFailure.
  std::string read(const std::filesystem::path& path) const;

  /// Returns the working directory of the rank that reads.
  /// Ranks:  collective over the group.
  std::filesystem::path working_directory() const;

  /// Returns an environment variable of the rank that reads; "" if it is not set.
  /// Ranks:  collective over the group.
  std::string variable(const std::string& name) const;

  /// Returns the folder of the model `name` in the Hugging Face cache of the rank that reads.
  /// Returns "" if `path` exists, or if the cache has no copy with a config.json.
  /// Ranks:  collective over the group.
  std::string find_model(const std::filesystem::path& path, const std::string& name) const;

  /// Runs `step` on every rank, and throws on all ranks if it throws on any.
  /// Ranks:  collective over the group.
  /// Errors: those of `step`; with shared() a CollectiveFailure on all ranks.
  void agree(const std::function<void()>& step) const { agree_(step); }

private:
  using Step = std::function<std::string()>;
  using Share = std::function<std::string(const Step&)>;  // gives every rank the step's result
  using Agree = std::function<void(const std::function<void()>&)>;
  FileProvider(Share share, Agree agree);

  Share share_;
  Agree agree_;
};

/// Loads the configuration that the command line names. Every rank parses the same bytes.
///
/// `rules` checks rules that concern several keys, and throws Failure. If all values are valid, it
/// gets the finished configuration. Otherwise it gets one without the wrong values, to find further
/// mistakes (see ConfigSources::rules).
///
/// Ranks:  collective over the group of `files`; `rules` must not communicate.
/// Errors: the same on every rank: ConfigFailure with all mistakes, what `rules` throws, or Failure
///         E603 (exit 66) if a file cannot be read.
Config load_config(const Options& options, const KeyTable& table, const FileProvider& files,
                   const std::function<void(const Config&)>& rules = {});

}  // namespace mgpu::app
