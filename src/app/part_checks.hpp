#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::app {

/// A run that --merge joins with others. The members are equal on all ranks.
struct PartRun {
  std::filesystem::path folder;
  Config config;
  bool is_finished = false;
  int format = store::kNewestRunFormat;
  run::ChunkPart part{};
  std::map<std::string, std::string> device_keys{};  // batch sizes and other sizes on a GPU, see
                                                     // run::device_keys_in()
  std::map<std::string, std::string> inputs{};       // checksums of the inputs by name
};

/// Returns a Failure E610 (exit 65), which says that runs cannot be merged.
Failure do_not_fit(std::string sentence, std::vector<std::string> lines, std::string help);

/// Checks that runs can be merged. Their job must support parts (JobSpec::has_parts), and all runs
/// must be finished. The runs must have the same format, Config::identity() and run::device_keys(),
/// such as batch sizes on GPUs. Runs with recorded inputs must have the same inputs. If all runs
/// have the same number N of parts, each part I/N must be given. `runs` must not be empty.
/// Ranks:  local.
/// Errors: Failure E610 (exit 65), which names what differs and what to type.
void check_part_runs(const std::vector<PartRun>& runs);

/// Returns a note for each part that several runs did. --merge takes such a part only once. Returns
/// no notes if the runs have different numbers of parts.
std::vector<std::string> doubled_parts(const std::vector<PartRun>& runs);

}  // namespace mgpu::app
