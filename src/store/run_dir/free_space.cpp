#include "free_space.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::store {
namespace {

/// Returns the number of bytes of all files in a folder and its subfolders. The bytes of a file
/// with several hard links are divided among the links.
std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (entry->is_symlink(gone) || !entry->is_regular_file(gone)) continue;
    const std::uintmax_t names = entry->hard_link_count(gone);
    const std::uintmax_t bytes = entry->file_size(gone);
    if (!gone) sum += bytes / names;
  }
  return sum;
}

}  // namespace

void require_free_space(const std::filesystem::path& folder, std::uint64_t bytes) {
  std::error_code error;
  const fs::path existing = existing_folder(folder);
  const fs::space_info space = fs::space(existing, error);
  if (error || space.available >= bytes) return;
  // In /proc, and in a folder without write permission, the lack of space is not the real problem.
  // The caller will fail to create the folder, with an error that tells the real reason.
  if (space.capacity == 0 || ::access(existing.c_str(), W_OK) != 0) return;
  throw Failure(
      {"E602",
       ExitCode::io,
       "there is too little space for the output",
       {"  --> " + folder.string(), "  needed " + std::to_string(bytes >> 20) + " MiB, free " +
                                        std::to_string(space.available >> 20) + " MiB"},
       "free some space, or choose another folder: --output DIR"});
}

void require_space_to_go_on(const fs::path& folder, std::uint64_t needed_bytes) {
  require_free_space(folder, needed_bytes - std::min(needed_bytes, bytes_below(folder)));
}

}  // namespace mgpu::store
