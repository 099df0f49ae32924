#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sha256.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

// A table in an anonymous file that the first rank of the node makes says which process holds which
// folder. Others open the files of a process through /proc, so that nothing is left behind.
namespace mgpu::lm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFolders = 64;
constexpr std::size_t kTextBytes = 400;
constexpr std::size_t kAlignment = 64;  // of tensors in a file
constexpr auto kPatience = std::chrono::milliseconds(5);

enum class State : std::uint32_t { free, reading, ready, failed };

/// A folder's weights in a file of a process, or a text about it.
struct Slot {
  std::atomic<State> state;
  std::uint64_t key;
  std::int32_t process;
  std::int32_t file;
  std::uint32_t length;
  std::array<char, kTextBytes> text;
};

struct Table {
  std::atomic<std::uint32_t> is_locked;
  std::array<Slot, 2 * kFolders> slots;
};

[[noreturn]] void fail(const char* call) {
  throw Error(std::string(call) + ": " + std::strerror(errno));
}

/// A file in memory, mapped as a whole; empty ones have one byte.
class Mapping {
public:
  static Mapping make(std::size_t bytes) {
    FdHandle file(::memfd_create("mgpu_model", MFD_CLOEXEC));
    if (file.get() < 0) fail("memfd_create");
    if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail("ftruncate");
    return {std::move(file), bytes, PROT_READ | PROT_WRITE};
  }

  static Mapping of(int process, int file, std::size_t bytes, int protection) {
    const fs::path path = fs::path("/proc") / std::to_string(process) / "fd" / std::to_string(file);
    const int flags = protection == PROT_READ ? O_RDONLY : O_RDWR;
    FdHandle opened(::open(path.c_str(), flags | O_CLOEXEC));
    if (opened.get() < 0) fail(path.c_str());
    return {std::move(opened), bytes, protection};
  }

  Mapping(Mapping&& other) noexcept
      : file_(std::move(other.file_)),
        bytes_(other.bytes_),
        address_(std::exchange(other.address_, nullptr)) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping() {
    if (address_ != nullptr) ::munmap(address_, bytes_);
  }

  std::byte* data() const { return static_cast<std::byte*>(address_); }
  int file() const { return file_.get(); }

  /// Nobody writes to it from now on.
  void protect() const {
    if (::mprotect(address_, bytes_, PROT_READ) != 0) fail("mprotect");
  }

private:
  Mapping(FdHandle file, std::size_t bytes, int protection)
      : file_(std::move(file)), bytes_(bytes) {
    address_ = ::mmap(nullptr, bytes, protection, MAP_SHARED, file_.get(), 0);
    if (address_ == MAP_FAILED) {
      address_ = nullptr;
      fail("mmap");
    }
  }

  FdHandle file_;
  std::size_t bytes_;
  void* address_ = nullptr;
};

std::size_t bytes_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(
             std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())) *
         sizeof(float);
}

std::size_t padded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A folder's path with sizes and times of its weight files.
std::uint64_t key_of(const fs::path& folder) {
  std::string text = fs::canonical(folder).string();
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto time = entry.last_write_time().time_since_epoch().count();
    files.push_back(entry.path().filename().string());
    files.back().append(" ").append(std::to_string(entry.file_size()));
    files.back().append(" ").append(std::to_string(time)).append("\n");
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files)
    text += file;
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
}

/// Tensors that look into a mapping and keep it.
std::vector<at::Tensor> tensors_in(const std::shared_ptr<Mapping>& mapping,
                                   const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<at::Tensor> tensors;
  std::size_t offset = 0;
  for (const std::vector<std::int64_t>& shape : shapes) {
    tensors.push_back(at::from_blob(
        mapping->data() + offset, shape, [mapping](void*) {}, at::kFloat));
    offset += padded(bytes_of(shape));
  }
  return tensors;
}

}  // namespace

struct ResidentModels::Shared {
  explicit Shared(Mapping mapped) : mapping(std::move(mapped)) {}

  Table& table() { return *reinterpret_cast<Table*>(mapping.data()); }

  void lock() {
    for (std::uint32_t free = 0; !table().is_locked.compare_exchange_weak(free, 1); free = 0)
      std::this_thread::yield();
  }
  void unlock() { table().is_locked = 0; }

  /// The slot of a key. `is_mine`: this rank reads the folder.
  Slot& claim(std::uint64_t key, bool& is_mine) {
    const std::lock_guard guard(*this);
    is_mine = false;
    for (Slot& slot : table().slots) {
      if (slot.state != State::free && slot.state != State::failed && slot.key == key) return slot;
      if (slot.state != State::free && slot.state != State::failed) continue;
      slot.key = key;
      slot.state = State::reading;
      is_mine = true;
      return slot;
    }
    throw Error("ResidentModels: 64 folders are open");
  }

  /// Calls `make` where this rank is the first to ask for the key, else waits for who was. A
  /// failure of that one is tried again here.
  template <class Make>
  Slot& get(std::uint64_t key, const Make& make) {
    for (;;) {
      bool is_mine = false;
      Slot& slot = claim(key, is_mine);
      if (is_mine) {
        try {
          make(slot);
          slot.state = State::ready;
        } catch (...) {
          slot.state = State::failed;
          throw;
        }
      }
      while (slot.state == State::reading) {
        std::this_thread::sleep_for(kPatience);
        mark_progress();
      }
      if (slot.state == State::ready) return slot;
    }
  }

  Mapping mapping;
  std::vector<std::shared_ptr<Mapping>> own;  // that other processes look at
};

ResidentModels::ResidentModels(const cluster::Group& node) {
  std::array<std::int32_t, 2> place{::getpid(), -1};
  std::optional<Mapping> made;
  if (node.rank() == 0) {
    made.emplace(Mapping::make(sizeof(Table)));  // zeros: no lock, free slots
    place[1] = made->file();
  }
  node.broadcast(std::span<std::int32_t>(place), 0);
  cluster::run_together(node, [&] {
    shared_ = std::make_shared<Shared>(
        made ? std::move(*made)
             : Mapping::of(place[0], place[1], sizeof(Table), PROT_READ | PROT_WRITE));
  });
  node.barrier();
}

ResidentModels::~ResidentModels() = default;

std::vector<at::Tensor> ResidentModels::open(
    const fs::path& folder, const std::vector<std::vector<std::int64_t>>& shapes,
    const std::function<void(std::span<const at::Tensor> tensors)>& read) {
  std::size_t bytes = kAlignment;
  for (const std::vector<std::int64_t>& shape : shapes)
    bytes += padded(bytes_of(shape));
  std::shared_ptr<Mapping> mapping;
  const Slot& slot = shared_->get(key_of(folder), [&](Slot& mine) {
    mapping = std::make_shared<Mapping>(Mapping::make(bytes));
    read(tensors_in(mapping, shapes));
    mapping->protect();
    shared_->own.push_back(mapping);
    mine.process = ::getpid();
    mine.file = mapping->file();
  });
  if (!mapping)
    mapping = std::make_shared<Mapping>(Mapping::of(slot.process, slot.file, bytes, PROT_READ));
  return tensors_in(mapping, shapes);
}

std::string ResidentModels::about(const fs::path& folder,
                                  const std::function<std::string()>& make) {
  const Slot& slot = shared_->get(~key_of(folder), [&](Slot& mine) {
    const std::string text = make();
    if (text.size() > kTextBytes) throw Error("ResidentModels: a text has more than 400 bytes");
    std::copy(text.begin(), text.end(), mine.text.begin());
    mine.length = static_cast<std::uint32_t>(text.size());
  });
  return {slot.text.data(), slot.length};
}

}  // namespace mgpu::lm
