#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <mgpu/app/cli.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu::app {

/// Reads files for a group of ranks: one rank reads, and all get the same bytes.
class FileProvider {
public:
  /// Returns a provider for this process alone, without MPI.
  static FileProvider alone();

  /// Returns a provider for `group`: rank 0 reads and broadcasts. `group` has to outlive the
  /// provider.
  static FileProvider shared(const cluster::Group& group);

  /// Returns the first bytes of a file: at most one byte more than a configuration may have, so
  /// that the parser can refuse longer files. "-" is standard input.
  ///
  /// Ranks:  collective over the group, in the same order on every rank.
  /// Errors: Failure E603 (exit 66), which a group throws as CollectiveFailure.
  std::string read(const std::filesystem::path& path) const;

  /// Returns the working directory of the rank that reads. Ranks: as read().
  std::filesystem::path working_directory() const;

  /// Runs `step` on every rank. Errors: those of `step`, which a group throws as CollectiveFailure.
  void agree(const std::function<void()>& step) const { agree_(step); }

private:
  using Step = std::function<std::string()>;
  using Share = std::function<std::string(const Step&)>;  // the step's result, on every rank
  using Agree = std::function<void(const std::function<void()>&)>;
  FileProvider(Share share, Agree agree);

  Share share_;
  Agree agree_;
};

/// Loads the configuration that the command line names. Every rank parses the same bytes. `rules`
/// checks the rules between keys: as ConfigSources::rules when some values are wrong, and with the
/// finished configuration when all are valid.
///
/// Ranks:  collective over the provider's group; the rules are local.
/// Errors: ConfigFailure with all mistakes, what `rules` throws, Failure E603; the same on every
///         rank.
Config load_config(const Options& options, const KeyTable& table, const FileProvider& files,
                   const std::function<void(const Config&)>& rules = {});

}  // namespace mgpu::app
