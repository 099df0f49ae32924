#include "work_mark.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/machine.hpp>

#include "store/file_numbers.hpp"

namespace mgpu::store {
namespace {

constexpr std::size_t kLineBytes = 256;

fs::path folder_of(const fs::path& run_directory) {
  return run_directory / "working";
}

std::optional<SeenMark> mark_in(const fs::path& path) {
  const auto numbers = numbers_in(path.filename().string(), "attempt_#.rank_#");
  std::error_code missing;
  if (!numbers || !fs::is_regular_file(path, missing)) return std::nullopt;  // a pipe would block
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return std::nullopt;
  std::istringstream words(line);
  SeenMark mark;
  std::string state;
  mark.attempt = numbers->front();
  mark.rank = static_cast<int>(numbers->back());
  words >> mark.host >> state;
  if (state == "at") {
    WorkSpan span;
    words >> span.phase >> span.first >> span.count;
    mark.span = span;
  }
  if (!words) return std::nullopt;
  return mark;
}

}  // namespace

WorkMark::WorkMark(const fs::path& run_directory, std::uint32_t attempt, int rank) {
  char name[64];
  std::snprintf(name, sizeof name, "attempt_%04u.rank_%04d", attempt, rank);
  path_ = folder_of(run_directory) / name;
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  fd_ = FdHandle(::open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  if (!fd_) {
    throw Failure({"E601",
                   ExitCode::cannot_create,
                   std::string("cannot create the file that says what a rank works on: ") +
                       std::strerror(errno),
                   {"  --> " + path_.string()},
                   "choose another folder: --output DIR"});
  }
  errno = ENOSPC;  // the reason to report if the write is short
  if (write("idle")) return;
  throw Failure({"E602",
                 ExitCode::io,
                 std::string("cannot write what a rank works on: ") + std::strerror(errno),
                 {"  --> " + path_.string()},
                 "free some space, or choose another folder: --output DIR"});
}

void WorkMark::begin(const WorkSpan& span) {
  static_cast<void>(write("at " + std::to_string(span.phase) + " " + std::to_string(span.first) +
                          " " + std::to_string(span.count)));
}

void WorkMark::end() {
  static_cast<void>(write("idle"));
}

bool WorkMark::write(const std::string& words) {
  std::string line = host_name() + " " + words;
  line.resize(kLineBytes - 1, ' ');
  line += '\n';
  ssize_t written = 0;
  do {
    written = ::pwrite(fd_.get(), line.data(), line.size(), 0);
  } while (written < 0 && errno == EINTR);
  return written == static_cast<ssize_t>(line.size());
}

std::vector<SeenMark> seen_marks(const fs::path& run_directory) {
  std::vector<SeenMark> marks;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(run_directory), missing))
    if (auto mark = mark_in(entry.path())) marks.push_back(std::move(*mark));
  std::ranges::sort(marks, [](const SeenMark& a, const SeenMark& b) {
    return std::tie(a.attempt, a.rank) < std::tie(b.attempt, b.rank);
  });
  return marks;
}

void remove_marks(const fs::path& run_directory, std::uint32_t last) {
  const fs::path folder = folder_of(run_directory);
  std::error_code ignored;
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    std::uint32_t attempt = 0;
    const std::size_t digits = std::strlen("attempt_");
    if (!name.starts_with("attempt_")) continue;
    const auto [end, error] =
        std::from_chars(name.data() + digits, name.data() + name.size(), attempt);
    if (error == std::errc{} && attempt <= last) old.push_back(entry.path());
  }
  for (const fs::path& path : old)
    fs::remove(path, ignored);
  fs::remove(folder, ignored);  // fails if the folder is not empty
}

}  // namespace mgpu::store
