#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

namespace mgpu::jobs {

/// Writes the time of each chunk as a line of latency/attempt_NNNN.rank_RRRR.csv. If a group works
/// on several chunks at once, the time of a chunk is its share of the time of all these chunks. The
/// times differ between runs, so they are not in results.h5.
class LatencyFile {
public:
  /// Creates the file and its folder. Reports no failure: if the file cannot be opened, the first
  /// add() throws.
  LatencyFile(const std::filesystem::path& run_directory, std::uint32_t attempt, int rank);

  /// Adds a line: rows `first` to first + count - 1 took `seconds`.
  /// Errors: Failure E602 (the file cannot be written).
  void add(std::int64_t first, std::int64_t count, double seconds);

private:
  std::filesystem::path path_;
  std::ofstream file_;
};

/// Returns a time for each of `rows` rows: the seconds of the row's chunk, divided by the number of
/// rows of the chunk. The time comes from the latest attempt that worked on the row. It is -1 if no
/// file contains a time for the row. Lines that are cut short because the program was killed are
/// ignored.
std::vector<double> read_latency(const std::filesystem::path& run_directory, std::int64_t rows);

}  // namespace mgpu::jobs
