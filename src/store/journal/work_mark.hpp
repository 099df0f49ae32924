#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

namespace mgpu::store {

/// Records in a file which samples a rank works on now. The file has one line, which is overwritten
/// in place, so that it exists whenever the process dies.
class WorkMark {
public:
  /// Starts without samples; the file already has its final size. Errors: Failure E601, E602.
  WorkMark(const fs::path& run_directory, std::uint32_t attempt, int rank);

  /// Record the samples that the rank works on, or with end() that it is idle. A failed write is
  /// ignored: it is no reason for the rank to fail.
  void begin(const WorkSpan& span);
  void end();

private:
  bool write(const std::string& words);

  fs::path path_;
  FdHandle fd_;
};

/// A mark that is read after its process has ended.
struct SeenMark {
  std::uint32_t attempt = 0;
  int rank = 0;
  std::string host;
  std::optional<WorkSpan> span;  // empty: the rank was idle
};

/// Returns the complete marks of a run directory, by (attempt, rank). Local.
std::vector<SeenMark> seen_marks(const fs::path& run_directory);

/// Removes the marks of attempts up to `last`. A mark that cannot be removed has no effect; it is
/// found again next time. Local.
void remove_marks(const fs::path& run_directory, std::uint32_t last);

}  // namespace mgpu::store
