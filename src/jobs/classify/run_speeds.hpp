#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Identifies runs whose speeds can be compared.
struct SpeedKind {
  std::uint32_t key = 0;  // a checksum of rows, model, prompt strategy, and keys that change
                          // results
  std::string host;       // host of rank 0
  std::string device;     // "cpu", "cuda"
};

/// Returns the speeds of finished runs of kind `kind` in the parent folder of `run_directory`, from
/// their summary.json. Reads the newest 200 folders, except `run_directory`. Of several runs with
/// the same number of ranks, of ranks per copy of the model, and of texts per batch, only the
/// newest counts. Unreadable summaries are skipped.
/// Ranks:  local.
std::vector<ClassifyPlots::RunSpeed> speeds_of_other_runs(
    const std::filesystem::path& run_directory, const SpeedKind& kind);

}  // namespace mgpu::jobs
