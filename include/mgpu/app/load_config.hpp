#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <mgpu/app/cli.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu::app {

/// How a rank comes to the bytes of a file: one rank reads, all get the same.
class FileProvider {
public:
  /// This process alone, without MPI.
  static FileProvider alone();

  /// Rank 0 of `group` reads and broadcasts. `group` has to outlive the provider.
  static FileProvider shared(const cluster::Group& group);

  /// The bytes of a file of at most a configuration's size and one byte more; "-" is standard
  /// input.
  ///
  /// Ranks:  collective over the group, in the same order on every rank.
  /// Errors: Failure E603 (exit 66), of a group as TogetherError.
  std::string read(const std::filesystem::path& path) const;

  /// The shell's folder as the reading rank sees it. Ranks: as read().
  std::filesystem::path working_directory() const;

  /// Runs `step` on every rank. Errors: what it throws, of a group as TogetherError.
  void agree(const std::function<void()>& step) const { agree_(step); }

private:
  using Step = std::function<std::string()>;
  using Share = std::function<std::string(const Step&)>;  // the step's result, on every rank
  using Agree = std::function<void(const std::function<void()>&)>;
  FileProvider(Share share, Agree agree);

  Share share_;
  Agree agree_;
};

/// The configuration that the command line asks for. Every rank parses the same bytes. `rules`: as
/// ConfigSources has them, asked of right values as well.
///
/// Ranks:  collective over the provider's group; the rules are local.
/// Errors: ConfigFailure with all mistakes, what `rules` throws, Failure E603; the same on every
///         rank.
Config load_config(const Options& options, const KeyTable& table, const FileProvider& files,
                   const std::function<void(const Config&)>& rules = {});

}  // namespace mgpu::app
