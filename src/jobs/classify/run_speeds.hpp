#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Identifies runs whose speeds can be compared.
struct SpeedKind {
  std::uint32_t key = 0;  // of keys, rows and model: ClassifyPlots::run_key
  std::string host;       // of rank 0
  std::string device;     // "cpu", "cuda"
};

/// Speeds of finished runs of this kind in the same output folder, read from their summary.json.
/// Only the newest run of each number of ranks and batch counts. Unreadable summaries and runs of
/// another kind are skipped. Looks into the newest 200 folders. Local.
std::vector<ClassifyPlots::RunSpeed> speeds_of_other_runs(
    const std::filesystem::path& run_directory, const SpeedKind& kind);

}  // namespace mgpu::jobs
