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
#include <mgpu/base/process_memory.hpp>
#include <mgpu/base/sha256.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

// A process that reads a model folder keeps the weights in an anonymous file (memfd). The first
// rank of the node makes a table (Table) in another anonymous file. For each folder, the table
// contains the id of the process that keeps the weights. Other processes open both kinds of files
// through /proc, so a crash leaves no files in a file system.
namespace mgpu::lm {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSlots = 4096;
constexpr std::size_t kTextBytes = 400;
constexpr std::size_t kAlignment = 64;  // of tensors in a file, in bytes
constexpr auto kPatience = std::chrono::milliseconds(5);

using Shapes = std::vector<std::vector<std::int64_t>>;

enum class State : std::uint32_t { free, reading, ready, failed };

/// An entry of the table. It either locates the weights of a folder, or contains a text about a
/// folder. The weights are in the file with descriptor `file` of the process with id
/// `process`.
struct Slot {
  std::atomic<State> state;
  std::atomic<std::int32_t> users;  // number of open() calls whose tensors still exist, plus
                                    // number of about() calls so far
  std::uint64_t last_use;           // value of Table::uses at the last open() or about()
  std::uint64_t bytes;              // size of the weights; 0: a text, or not filled yet
  std::uint64_t key;                // key_of() of a folder with weights; ~key_of() for a text
  std::int32_t process;
  std::int32_t file;
  std::uint32_t length;
  std::array<char, kTextBytes> text;
};

struct Table {
  std::atomic<std::uint32_t> is_locked;
  std::uint64_t uses;     // number of open() and about() calls so far
  std::uint64_t dropped;  // how often the weights of a folder were dropped
  std::array<Slot, kSlots> slots;
};

[[noreturn]] void fail(const char* call) {
  throw Error(std::string(call) + ": " + std::strerror(errno));
}

/// An anonymous file in memory, mapped as a whole.
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

  /// Makes the mapping of this process read-only.
  void protect() const {
    if (::mprotect(address_, bytes_, PROT_READ) != 0) fail("mprotect");
  }

  /// Gives the memory of the file back to the system. All mappings of the file contain zeros
  /// afterwards.
  void empty() const {
    const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (::fallocate(file(), mode, 0, static_cast<off_t>(bytes_)) != 0) fail("fallocate");
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

/// Returns a hash of the folder's path, of the names, sizes and times of its files, and of
/// `shapes`.
std::uint64_t key_of(const fs::path& folder, const Shapes& shapes) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const auto time = entry.last_write_time().time_since_epoch().count();
    files.push_back(entry.path().filename().string());
    files.back().append(" ").append(std::to_string(entry.file_size()));
    files.back().append(" ").append(std::to_string(time)).append("\n");
  }
  std::sort(files.begin(), files.end());
  std::string text = fs::canonical(folder).string();
  for (const std::string& file : files)
    text += file;
  for (const std::vector<std::int64_t>& shape : shapes)
    text += formats::to_text(shape);
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
}

/// Returns tensors backed by the memory of `mapping`. They keep `mapping` and `user` alive.
std::vector<at::Tensor> tensors_in(const std::shared_ptr<Mapping>& mapping, const Shapes& shapes,
                                   const std::shared_ptr<void>& user = nullptr) {
  std::vector<at::Tensor> tensors;
  std::size_t offset = 0;
  for (const std::vector<std::int64_t>& shape : shapes) {
    tensors.push_back(at::from_blob(
        mapping->data() + offset, shape, [mapping, user](void*) {}, at::kFloat));
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

  /// The result of claim(): a slot, and its state when claim() returned. If `is_mine`, the caller
  /// of claim() has to fill the slot.
  struct Claim {
    Slot* slot;
    State state;
    bool is_mine;
  };

  /// Returns the slot of a key. If no slot in use has the key, reserves a slot, which the caller
  /// has to fill. Counts the caller as a user of the slot, unless another rank is still filling the
  /// slot.
  Claim claim(std::uint64_t key) {
    const std::lock_guard guard(*this);
    Slot* vacant = nullptr;
    for (Slot& slot : table().slots) {
      const State state = slot.state;
      const bool is_used = state == State::reading || state == State::ready;
      if (is_used && slot.key == key) {
        if (state == State::ready) use(slot);
        return {&slot, state, false};
      }
      if (!is_used && vacant == nullptr) vacant = &slot;
    }
    if (vacant == nullptr) throw Error("ResidentModels: 4096 folders and texts are open");
    vacant->key = key;
    vacant->bytes = 0;
    vacant->users = 0;
    vacant->state = State::reading;
    use(*vacant);
    return {vacant, State::reading, true};
  }

  void use(Slot& slot) {
    ++slot.users;
    slot.last_use = ++table().uses;
  }

  /// Returns the least recently used slot among the slots that have weights and no users; nullptr
  /// if there is no such slot.
  Slot* oldest_unused() {
    Slot* oldest = nullptr;
    for (Slot& slot : table().slots) {
      if (slot.state != State::ready || slot.bytes == 0 || slot.users > 0) continue;
      if (oldest == nullptr || slot.last_use < oldest->last_use) oldest = &slot;
    }
    return oldest;
  }

  /// Waits until the slot of a key is ready, and returns the slot. The first rank that calls get()
  /// for the key fills the slot with `make`, and other ranks wait. If `make` throws, this rank
  /// rethrows the exception, and one of the waiting ranks tries to fill the slot with its `make`.
  template <class Make>
  Slot& get(std::uint64_t key, const Make& make) {
    for (;;) {
      const Claim claimed = claim(key);
      if (claimed.is_mine) return fill(*claimed.slot, make);
      if (claimed.state == State::ready) return *claimed.slot;
      std::this_thread::sleep_for(kPatience);
      mark_progress();
    }
  }

  template <class Make>
  Slot& fill(Slot& slot, const Make& make) {
    try {
      make(slot);
    } catch (...) {
      slot.state = State::failed;
      throw;
    }
    slot.state = State::ready;
    return slot;
  }

  /// Closes files of this process whose weights were dropped.
  void close_dropped() {
    const std::lock_guard guard(*this);
    std::erase_if(own, [&](const std::shared_ptr<Mapping>& file) {
      return std::ranges::none_of(table().slots, [&](const Slot& slot) {
        return slot.state == State::ready && slot.bytes > 0 && slot.process == ::getpid() &&
               slot.file == file->file();
      });
    });
  }

  Mapping mapping;
  std::vector<std::shared_ptr<Mapping>> own;  // files that other processes may open
};

ResidentModels::ResidentModels(const cluster::Group& node) {
  std::array<std::int32_t, 2> place{::getpid(), -1};
  std::optional<Mapping> made;
  cluster::run_together(node, [&] {
    if (node.rank() != 0) return;
    made.emplace(Mapping::make(sizeof(Table)));  // zeros: table unlocked, all slots free
    place[1] = made->file();
  });
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
    const fs::path& folder, const Shapes& shapes,
    const std::function<void(std::span<const at::Tensor> tensors)>& read) {
  std::size_t bytes = kAlignment;
  for (const std::vector<std::int64_t>& shape : shapes)
    bytes += padded(bytes_of(shape));
  std::shared_ptr<Mapping> mapping;
  Slot& slot = shared_->get(key_of(folder, shapes), [&](Slot& mine) {
    drop_unused(shortage(2 * bytes));  // factor 2: using the weights needs as much memory again
    shared_->close_dropped();
    mapping = std::make_shared<Mapping>(Mapping::make(bytes));
    read(tensors_in(mapping, shapes));
    mapping->protect();
    shared_->own.push_back(mapping);
    mine.bytes = bytes;
    mine.process = ::getpid();
    mine.file = mapping->file();
  });
  // The deleter decrements Slot::users when the last of the returned tensors is destroyed.
  const std::shared_ptr<void> user(&slot, [shared = shared_](Slot* used) { --used->users; });
  if (!mapping)
    mapping = std::make_shared<Mapping>(Mapping::of(slot.process, slot.file, bytes, PROT_READ));
  return tensors_in(mapping, shapes, user);
}

std::uint64_t ResidentModels::shortage(std::uint64_t bytes) {
  const std::uint64_t free = host_free_bytes();
  return bytes > free ? bytes - free : 0;
}

std::uint64_t ResidentModels::drop_unused(std::uint64_t bytes) {
  const std::lock_guard guard(*shared_);
  std::uint64_t dropped = 0;
  while (dropped < bytes) {
    Slot* const slot = shared_->oldest_unused();
    if (slot == nullptr) break;
    Mapping::of(slot->process, slot->file, slot->bytes, PROT_READ | PROT_WRITE).empty();
    slot->state = State::free;
    dropped += slot->bytes;
    ++shared_->table().dropped;
  }
  return dropped;
}

std::uint64_t ResidentModels::num_dropped() const {
  const std::lock_guard guard(*shared_);
  return shared_->table().dropped;
}

std::string ResidentModels::about(const fs::path& folder,
                                  const std::function<std::string()>& make) {
  const Slot& slot = shared_->get(~key_of(folder, {}), [&](Slot& mine) {
    const std::string text = make();
    if (text.size() > kTextBytes) throw Error("ResidentModels: a text has more than 400 bytes");
    std::copy(text.begin(), text.end(), mine.text.begin());
    mine.length = static_cast<std::uint32_t>(text.size());
  });
  return {slot.text.data(), slot.length};
}

}  // namespace mgpu::lm
