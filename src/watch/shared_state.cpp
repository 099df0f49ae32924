#include "shared_state.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

namespace mgpu::watch {
namespace {

constexpr std::size_t kVerdictBytes = (sizeof(Verdict) + 63) / 64 * 64;  // offset of the slots

std::size_t bytes_of(int ranks) {
  return kVerdictBytes + static_cast<std::size_t>(ranks) * sizeof(Slot);
}

[[noreturn]] void fail(const std::string& name, int error) {
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 std::string("cannot share memory for the watchdog: ") + std::strerror(error),
                 {"  --> /dev/shm" + name},
                 "make room in /dev/shm; watchdog.enabled=false runs without"});
}

void* map(const FdHandle& file, const std::string& name, int ranks) {
  void* memory =
      ::mmap(nullptr, bytes_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) fail(name, errno);
  return memory;
}

}  // namespace

SharedState::SharedState(void* memory, int ranks)
    : verdict_(static_cast<Verdict*>(memory)),
      slots_(reinterpret_cast<Slot*>(static_cast<std::byte*>(memory) + kVerdictBytes),
             static_cast<std::size_t>(ranks)) {}

SharedState SharedState::create(const std::string& name, int ranks) {
  const FdHandle file(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, S_IRUSR | S_IWUSR));
  if (!file) fail(name, errno);
  // Reserves the memory now, because a full file system would later cause a SIGBUS.
  const int error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_of(ranks)));
  if (error != 0) {
    unlink(name);
    fail(name, error);
  }
  const SharedState shared(map(file, name, ranks), ranks);
  new (&shared.verdict()) Verdict;
  for (Slot& slot : shared.slots())
    new (&slot) Slot;
  return shared;
}

SharedState SharedState::open(const std::string& name, int ranks) {
  const FdHandle file(::shm_open(name.c_str(), O_RDWR, 0));
  if (!file) fail(name, errno);
  return {map(file, name, ranks), ranks};
}

void SharedState::unlink(const std::string& name) noexcept {
  ::shm_unlink(name.c_str());
}

std::string SharedState::fresh_name() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return "/mgpu_watch." + std::to_string(::getuid()) + "." + std::to_string(::getpid()) + "." +
         std::to_string(now);
}

}  // namespace mgpu::watch
