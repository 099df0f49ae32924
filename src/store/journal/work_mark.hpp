#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

namespace mgpu::store {

/// Which samples a rank works on now, in a file of its own: a line that is written over in place,
/// so that it is there whenever the process dies.
class WorkMark {
public:
  /// At nothing yet; the file has its size from now on. Errors: Failure E601, E602.
  WorkMark(const fs::path& run_directory, std::uint32_t attempt, int rank);

  /// A rank does not fail for a mark that cannot be written.
  void begin(const WorkSpan& span);
  void end();

private:
  bool write(const std::string& words);

  fs::path path_;
  FdHandle fd_;
};

/// One of them, after the process.
struct SeenMark {
  std::uint32_t attempt = 0;
  int rank = 0;
  std::string host;
  std::optional<WorkSpan> span;  // none: the rank was at nothing
};

/// Those that are whole, by (attempt, rank). Local.
std::vector<SeenMark> seen_marks(const fs::path& run_directory);

/// Removes those of attempts up to `last`. What cannot be removed is found again, and changes
/// nothing. Local.
void remove_marks(const fs::path& run_directory, std::uint32_t last);

}  // namespace mgpu::store
