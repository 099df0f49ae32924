#include "grid.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include "block.hpp"
#include "settings.hpp"

// The begin and end of the section with the variables that kernels declare __shared__. Both are
// null in a program without such variables.
extern "C" char __start_cudaemu_shared[] __attribute__((weak));
extern "C" char __stop_cudaemu_shared[] __attribute__((weak));

namespace cudaemu {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

std::unique_ptr<void, Free> dynamic_memory;
std::size_t dynamic_bytes = 0;

/// Allocates dynamic shared memory that ends exactly after `bytes` bytes, so that AddressSanitizer
/// detects accesses past it.
void set_dynamic(std::size_t bytes) {
  constexpr std::size_t kAlignment = 128;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, std::max<std::size_t>(bytes, 1)) != 0)
    throw std::bad_alloc();
  dynamic_memory.reset(memory);
  dynamic_bytes = bytes;
}

/// Fills shared memory with poison, because its content is undefined when a block begins.
void poison_shared() {
  if (__start_cudaemu_shared != nullptr)
    std::memset(__start_cudaemu_shared, 0xFF,
                static_cast<std::size_t>(__stop_cudaemu_shared - __start_cudaemu_shared));
  if (dynamic_bytes > 0) std::memset(dynamic_memory.get(), 0xFF, dynamic_bytes);
}

std::uint64_t volume(const dim3& size) {
  return std::uint64_t{size.x} * size.y * size.z;
}

void set_block_index(std::uint64_t n) {
  blockIdx = {static_cast<unsigned>(n % gridDim.x),
              static_cast<unsigned>(n / gridDim.x % gridDim.y),
              static_cast<unsigned>(n / gridDim.x / gridDim.y)};
}

std::string name_of_block() {
  return "block " + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + "," +
         std::to_string(blockIdx.z);
}

}  // namespace

void* dynamic_shared() {
  return dynamic_memory.get();
}

bool is_possible(const Launch& launch, std::size_t allowed_shared) {
  constexpr unsigned kMaxInZ = 64;
  constexpr unsigned kMaxBlocksInX = 0x7fffffff;
  constexpr unsigned kMaxBlocks = 65535;
  const std::uint64_t threads = volume(launch.block);
  if (threads == 0 || threads > kMaxThreads || launch.block.z > kMaxInZ) return false;
  if (volume(launch.grid) == 0 || launch.grid.x > kMaxBlocksInX) return false;
  if (launch.grid.y > kMaxBlocks || launch.grid.z > kMaxBlocks) return false;
  return launch.shared_bytes <= allowed_shared;
}

std::string run_grid(const Launch& launch) {
  static std::mt19937 random{1};
  gridDim = launch.grid;
  blockDim = launch.block;
  set_dynamic(launch.shared_bytes);
  std::vector<unsigned> threads(volume(launch.block));
  std::iota(threads.begin(), threads.end(), 0U);
  const Order order = settings().order;
  if (order == Order::backward) std::reverse(threads.begin(), threads.end());
  const std::uint64_t blocks = volume(launch.grid);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    set_block_index(order == Order::forward ? b : blocks - 1 - b);
    if (order == Order::random) std::shuffle(threads.begin(), threads.end(), random);
    poison_shared();
    const std::string problem = the_block.run(threads, launch.thread);
    if (!problem.empty()) return problem + ", " + name_of_block();
  }
  return "";
}

}  // namespace cudaemu
