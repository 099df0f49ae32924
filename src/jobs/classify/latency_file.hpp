#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

namespace mgpu::jobs {

/// How long chunks took, which differs from run to run: beside results.h5, not in it. A file per
/// attempt and rank, latency/attempt_NNNN.rank_RRRR.csv, with a line per chunk.
class LatencyFile {
public:
  /// Errors: Failure E602.
  LatencyFile(const std::filesystem::path& run_directory, std::uint32_t attempt, int rank);

  /// Errors: Failure E602.
  void add(std::int64_t first, std::int64_t count, double seconds);

private:
  std::filesystem::path path_;
  std::ofstream file_;
};

/// Seconds per sample of each of `rows`, of the latest attempt that worked on it; -1 where no file
/// says. Lines that a kill cut short do not count.
std::vector<double> read_latency(const std::filesystem::path& run_directory, std::int64_t rows);

}  // namespace mgpu::jobs
