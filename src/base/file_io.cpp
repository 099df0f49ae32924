#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/machine.hpp>

namespace mgpu {
namespace {

std::string mebibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / 1048576.0);
  return text;
}

[[noreturn]] void fail_io(const fs::path& path, std::string_view what, int error,
                          std::uint64_t needed = 0) {
  ErrorReport report{
      "E602",
      ExitCode::io,
      std::string("cannot write the ") + std::string(what) + ": " + std::strerror(error),
      {"  --> " + path.string()},
      ""};
  if (error == ENOSPC || error == EDQUOT) {
    report.lines.push_back(
        (needed > 0 ? "  needed " + mebibytes(needed) + " more, free " : "  free ") +
        mebibytes(free_bytes(path)));
    report.help = "free some space, then start the same command again: nothing finished is lost";
  }
  throw Failure(std::move(report));
}

[[noreturn]] void fail_create(const fs::path& path, std::string_view what, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EIO || error == ESTALE) {
    fail_io(path, what, error);
  }
  throw Failure(
      {"E601",
       ExitCode::cannot_create,
       std::string("cannot create the ") + std::string(what) + ": " + std::strerror(error),
       {"  --> " + path.string()},
       "choose another folder: --output DIR"});
}

int open_flags(DurableFile::Mode mode) {
  switch (mode) {
    case DurableFile::Mode::create_new:
      return O_CREAT | O_EXCL | O_APPEND;
    case DurableFile::Mode::append:
      return O_CREAT | O_APPEND;
    case DurableFile::Mode::replace:
      return O_CREAT | O_TRUNC;
  }
  return 0;
}

std::string point(std::string_view what, const char* call) {
  return std::string(what) + "." + call;
}

/// Runs the failpoint WHAT.NAME, where WHAT is `what` and NAME is `name`. If it sets no error,
/// makes the system call. Returns the errno of the failpoint or the system call; 0 without an
/// error.
template <class Call>
int guarded(std::string_view what, const char* name, Call call) {
  const FailpointAction action = failpoint(point(what, name));
  if (action.error != 0) return action.error;
  return call() == 0 ? 0 : errno;
}

}  // namespace

void FdTraits::destroy(Raw fd) noexcept {
  ::close(fd);
}

DurableFile::DurableFile(fs::path path, std::string what, Mode mode)
    : path_(std::move(path)), what_(std::move(what)) {
  const int error = guarded(what_, "create", [&] {
    fd_.reset(::open(path_.c_str(), open_flags(mode) | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0644));
    return fd_ ? 0 : -1;
  });
  if (error != 0) fail_create(path_, what_, error);
}

void DurableFile::write(std::span<const std::byte> bytes) {
  const FailpointAction action = failpoint(point(what_, "write"));
  if (action.half_only) {
    [[maybe_unused]] const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size() / 2);
  }
  if (action.error != 0) fail_io(path_, what_, action.error, bytes.size());
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_io(path_, what_, errno, bytes.size());
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    mark_progress();
  }
}

void DurableFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void DurableFile::sync() {
  const int error = guarded(what_, "sync", [&] { return ::fdatasync(fd_.get()); });
  if (error != 0) fail_io(path_, what_, error);
}

void DurableFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  struct stat info {};
  int error = guarded(what_, "reserve", [&] {
    if (::fstat(fd_.get(), &info) != 0) return -1;
    return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, info.st_size, static_cast<off_t>(bytes));
  });
  if (error == EOPNOTSUPP) error = free_bytes(path_) < bytes ? ENOSPC : 0;
  if (error != 0) fail_io(path_, what_, error, bytes);
}

void DurableFile::close() {
  if (!fd_) return;
  const int error = guarded(what_, "close", [&] { return ::close(fd_.release()); });
  if (error != 0) fail_io(path_, what_, error);
}

void rename_durably(const fs::path& from, const fs::path& to, std::string_view what) {
  const int error = guarded(what, "rename", [&] { return std::rename(from.c_str(), to.c_str()); });
  if (error != 0) fail_io(to, what, error);
  sync_path(to.has_parent_path() ? to.parent_path() : fs::path("."), what);
}

void sync_path(const fs::path& path, std::string_view what) {
  const FdHandle fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail_io(path, what, errno);
  const int error = guarded(what, "dirsync", [&] { return ::fsync(fd.get()); });
  if (error != 0) fail_io(path, what, error);
}

void write_file_durably(const fs::path& path, std::string_view text, std::string_view what) {
  const fs::path temporary = path.string() + ".tmp";
  DurableFile file(temporary, std::string(what), DurableFile::Mode::replace);
  file.write(text);
  file.sync();
  file.close();
  rename_durably(temporary, path, what);
}

}  // namespace mgpu
