#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::store {

/// Where one rank runs. Each rank passes its own facts to write_repro().
struct RankFacts {
  std::string host;
  std::string gpu_uuid;  // "" on the CPU
  std::string gpu_pci;   // "" on the CPU
  int numa_node = -1;    // -1: unknown
  std::string cores;     // cores that the rank may use, such as "0-7"
};

/// The facts that are needed to repeat a run. write_repro() uses those of rank 0 only.
struct ReproFacts {
  std::string resolved_yaml;                    // Config::resolved_yaml()
  std::vector<std::string> command;             // argv
  std::map<std::string, std::string> versions;  // by name: "git", "nccl", "cuda", ...
  std::map<std::string, std::uint64_t> seeds;   // seeds by name: "run" and others
};

/// Writes repro/: config.resolved.yaml, command.txt, versions.json (`facts.versions`, and the
/// versions of compiler and MPI), ranks.csv, env.txt, seeds.json. Each file appears only when
/// complete.
///
/// Ranks:  collective over `group`.
/// Errors: Failure E601 (cannot be created) or E602 (write failed) on all ranks.
void write_repro(const cluster::Group& group, const std::filesystem::path& run_directory,
                 const ReproFacts& facts, const RankFacts& mine);

/// Returns the variables of `environment` that hold no secrets (see shown_environment()). Each
/// variable is a line "NAME=value" with control characters escaped. Lines are sorted by name.
std::string environment_text(const char* const* environment);

/// Returns `word` quoted for a shell: 'my run' gets quotes, a plain word does not change.
std::string shell_word(const std::string& word);

/// Returns "KEY=PATH" as a user types it: quoted for a shell, and with `$$` for each `$` of the
/// path. `key` is a configuration key whose value is a path, or "--resume".
std::string path_argument(std::string_view key, const std::filesystem::path& path);

/// Returns argv quoted for a shell, without secrets.
std::string command_line(const std::vector<std::string>& command);

/// Returns `argument` with its secrets hidden, so that it may be stored. In KEY=VALUE, *** replaces
/// VALUE if KEY is the name of a secret. In other arguments, redact() hides what is likely a
/// secret.
std::string redacted_argument(std::string_view argument);

}  // namespace mgpu::store
