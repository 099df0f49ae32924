#include "segment.hpp"

#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nccl_standin {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

bool Segment::make(ncclUniqueId& id) {
  // The file stays open until the process ends, because peers may open it late.
  const int file = ::memfd_create("nccl_standin", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(Layout)) != 0) return false;
  id = {};
  std::snprintf(id.internal, sizeof id.internal, "/proc/%d/fd/%d", static_cast<int>(::getpid()),
                file);
  return true;
}

bool Segment::open(const ncclUniqueId& id) {
  const int file = ::open(id.internal, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  void* memory = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) return false;
  layout_ = static_cast<Layout*>(memory);
  return true;
}

Segment::~Segment() {
  if (layout_ != nullptr) ::munmap(layout_, sizeof(Layout));
}

}  // namespace nccl_standin
