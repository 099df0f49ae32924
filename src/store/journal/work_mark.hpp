#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

namespace mgpu::store {

/// Records in a file the samples that a rank is working on. If the rank dies, the next attempt
/// learns from the file which samples may have killed the rank. Each write overwrites the single
/// line of the file in place, so the line is complete whenever the process dies.
class WorkMark {
public:
  /// Creates the file, and records that the rank is idle. The file has its final size from the
  /// start, so later writes need no more disk space.
  /// Errors: Failure E601 (cannot be created), E602 (write failed).
  WorkMark(const fs::path& run_directory, std::uint32_t attempt, int rank);

  /// The function begin() records the samples that the rank works on, and end() records that the
  /// rank is idle. A failed write is ignored, because it is no reason for the rank to fail.
  void begin(const WorkSpan& span);
  void end();

private:
  bool write(const std::string& words);

  fs::path path_;
  FdHandle fd_;
};

/// The content of a WorkMark's file, read after the process has ended.
struct SeenMark {
  std::uint32_t attempt = 0;
  int rank = 0;
  std::string host;
  std::optional<WorkSpan> span;  // empty: the rank was idle
};

/// Returns the content of the WorkMark files of a run directory, sorted by (attempt, rank). Skips
/// files whose line is incomplete or malformed. Any rank may call this function alone.
std::vector<SeenMark> seen_marks(const fs::path& run_directory);

/// Removes the WorkMark files of attempts up to `last`. A file that cannot be removed is left,
/// which is harmless. Any rank may call this function alone.
void remove_marks(const fs::path& run_directory, std::uint32_t last);

}  // namespace mgpu::store
