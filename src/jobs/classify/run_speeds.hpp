#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "page.hpp"

namespace mgpu::jobs {

/// Which runs can be compared.
struct SpeedKind {
  std::uint32_t key = 0;  // of keys, rows and model: ClassifyPictures::run_key
  std::string host;       // of rank 0
  std::string device;     // "cpu", "cuda"
};

/// Speeds of the finished runs of this kind that lie beside a run directory, as their summary.json
/// have them; the newest of each number of ranks and batch. Summaries that cannot be read, or say
/// nothing of it, are no runs of this kind. Looks into the newest 200 folders. Local.
std::vector<ClassifyPictures::RunSpeed> speeds_beside(const std::filesystem::path& run_directory,
                                                      const SpeedKind& kind);

}  // namespace mgpu::jobs
