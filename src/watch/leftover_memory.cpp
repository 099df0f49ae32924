#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/watch/leftover_memory.hpp>

namespace mgpu::watch {
namespace {

namespace fs = std::filesystem;

/// Returns whether the file is shared memory that Open MPI or a watchdog made for this user, and
/// was last changed at least `age` ago.
bool may_be_left(const fs::path& path, std::chrono::seconds age) {
  const std::string name = path.filename().string();
  if (!name.starts_with("vader_segment.") && !name.starts_with("mgpu_watch.")) return false;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return info.st_uid == ::getuid() && std::time(nullptr) - info.st_mtime >= age.count();
}

/// Removes from the list `files` the files that one process has mapped. `process` is the folder of
/// that process in /proc.
void keep_unmapped(const fs::path& process, std::vector<fs::path>& files) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line) && !files.empty();)
    std::erase_if(files, [&](const fs::path& file) { return line.ends_with(file.string()); });
}

/// Returns the entries of a folder that can be read. The range-based loop over a directory_iterator
/// would throw if reading an entry fails.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    entries.push_back(entry->path());
  return entries;
}

}  // namespace

int remove_leftover_memory(const fs::path& given, std::chrono::seconds age) {
  std::error_code error;
  const fs::path folder = fs::canonical(given, error);  // /proc/PID/maps shows canonical paths
  if (error) return 0;
  std::vector<fs::path> files;
  for (const fs::path& entry : entries_of(folder))
    if (may_be_left(entry, age)) files.push_back(entry);
  if (files.empty()) return 0;
  for (const fs::path& entry : entries_of("/proc"))
    if (std::ranges::all_of(entry.filename().string(), [](char c) { return c >= '0' && c <= '9'; }))
      keep_unmapped(entry, files);
  int removed = 0;
  for (const fs::path& file : files)
    removed += fs::remove(file, error) ? 1 : 0;
  return removed;
}

}  // namespace mgpu::watch
