#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Identifies runs whose speeds can be compared.
struct SpeedKind {
  /// Checksum of the rows, the model, the prompt strategy, and the values of all keys that change
  /// results.
  std::uint32_t key = 0;
  std::string host;    // host of rank 0
  std::string device;  // "cpu", "cuda"
};

/// Returns the speeds of finished runs of kind `kind` in the parent folder of `run_directory`, from
/// their summary.json. Reads the newest 200 folders, except `run_directory`. Skips unreadable
/// summaries. Two runs count as equal if they have the same number of ranks, ranks per model copy,
/// and texts per batch. Of equal runs, only the newest counts.
///
/// Ranks:  local.
std::vector<ClassifyPlots::RunSpeed> speeds_of_other_runs(
    const std::filesystem::path& run_directory, const SpeedKind& kind);

}  // namespace mgpu::jobs
