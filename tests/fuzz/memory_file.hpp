#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include <mgpu/base/unique_handle.hpp>

// Makes an in-memory file for readers that take a path.
namespace mgpu::fuzz {

inline void require(bool ok) {
  if (!ok) std::abort();
}

class MemoryFile {
public:
  MemoryFile(const std::uint8_t* data, std::size_t size)
      : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(static_cast<bool>(fd_));
    require(::write(fd_.get(), data, size) == static_cast<ssize_t>(size));
  }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

private:
  FdHandle fd_;
};

}  // namespace mgpu::fuzz
