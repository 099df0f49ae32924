#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Identifies runs whose speeds can be compared.
struct SpeedKind {
  std::uint32_t key = 0;  // equal for equal keys, rows and model: ClassifyPlots::run_key
  std::string host;       // of rank 0
  std::string device;     // "cpu", "cuda"
};

/// Returns the speeds of finished runs of this kind in the same output folder, from their
/// summary.json. It reads the newest 200 folders, and uses only the newest run for each number of
/// ranks, ranks per copy and batch size. Unreadable summaries and runs of another kind are skipped.
/// Local.
std::vector<ClassifyPlots::RunSpeed> speeds_of_other_runs(
    const std::filesystem::path& run_directory, const SpeedKind& kind);

}  // namespace mgpu::jobs
