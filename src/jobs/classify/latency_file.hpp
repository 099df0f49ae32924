#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

namespace mgpu::jobs {

/// Writes the times that chunks took to latency/attempt_NNNN.rank_RRRR.csv, with one line per
/// chunk.
/// These times differ between runs, so they are not in results.h5.
class LatencyFile {
public:
  /// Creates the file. Errors: Failure E602.
  LatencyFile(const std::filesystem::path& run_directory, std::uint32_t attempt, int rank);

  /// Adds a line for `count` rows from `first` on. Errors: Failure E602.
  void add(std::int64_t first, std::int64_t count, double seconds);

private:
  std::filesystem::path path_;
  std::ofstream file_;
};

/// Returns the seconds per sample of each of `rows` rows, from the latest attempt that worked on
/// the row, or -1 if no file has them. Ignores lines that a kill cut short.
std::vector<double> read_latency(const std::filesystem::path& run_directory, std::int64_t rows);

}  // namespace mgpu::jobs
