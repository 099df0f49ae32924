#include "data_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/machine.hpp>

namespace mgpu::input {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

[[noreturn]] void fail_read(const fs::path& path, ExitCode exit, int error) {
  throw Failure({"E603",
                 exit,
                 std::string("cannot read a data file: ") + std::strerror(error),
                 {"  --> " + path.string(), "  on host " + host_name()},
                 ""});
}

[[noreturn]] void fail_changed(const fs::path& path, const std::string& sentence,
                               const std::string& help) {
  throw Failure({"E534",
                 ExitCode::data,
                 sentence,
                 {"  --> " + path.string(), "  on host " + host_name()},
                 help});
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would block until a writer opens the pipe.
DataFile::DataFile(fs::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!fd_) fail_read(path_, ExitCode::no_input, errno);
  stamp_ = stamp_now();
}

FileStamp DataFile::stamp_now() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) fail_read(path_, ExitCode::io, errno);
  if (S_ISDIR(info.st_mode)) fail_read(path_, ExitCode::no_input, EISDIR);
  if (!S_ISREG(info.st_mode)) fail_read(path_, ExitCode::no_input, ESPIPE);
  return {static_cast<std::uint64_t>(info.st_size),
          std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

std::size_t DataFile::read(std::uint64_t offset, std::span<char> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    mark_progress();
    const ssize_t n = ::pread(fd_.get(), bytes.data() + done, bytes.size() - done,
                              static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_read(path_, ExitCode::io, errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  check_unchanged();
  return done;
}

void DataFile::for_each_block(const std::function<void(std::string_view)>& use) const {
  std::string block(kBlockBytes, '\0');
  for (std::uint64_t offset = 0; offset < stamp_.size;) {
    const std::size_t size = read(offset, block);
    use(std::string_view(block).substr(0, size));
    offset += size;
  }
}

void DataFile::check_unchanged() const {
  if (stamp_now() == stamp_) return;
  fail_changed(path_, "a data file changed while it was read",
               "start again when nothing writes to it any more");
}

void DataFile::check_same(const FileStamp& elsewhere) const {
  if (stamp_ == elsewhere) return;
  fail_changed(path_, "a data file is not the one that rank 0 reads: size or time differ",
               "put the file where all hosts see the same one");
}

int DataFile::descriptor_copy() const {
  const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail_read(path_, ExitCode::io, errno);
  return copy;
}

}  // namespace mgpu::input
