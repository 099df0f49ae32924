#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include "../include/cudaemu/launch.hpp"

namespace cudaemu {

/// The emulated device: its null stream, which is a queue of launches and copies, and its last
/// error. Any thread may call its functions, but allow_shared() takes no lock.
class Device {
public:
  Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  /// Queues a kernel in its stream, or sets the last error if CUDA would refuse the launch.
  void launch(Launch launch);
  std::int64_t launches();  // so far

  /// Runs `work` after everything queued before it: now, or with CUDAEMU_LAZY=1 at the next wait.
  void queue(std::function<void()> work);

  /// Waits until the queue is empty.
  void wait();

  cudaError_t last_error() const { return last_error_; }
  cudaError_t take_error() { return last_error_.exchange(cudaSuccess); }

  void allow_shared(const void* kernel, std::size_t bytes) { allowed_shared_[kernel] = bytes; }

private:
  void run(const Launch& launch);

  std::recursive_mutex mutex_;
  std::deque<std::function<void()>> queue_;
  std::map<const void*, std::size_t> allowed_shared_;
  std::map<std::string, std::uint64_t> launches_;
  bool counts_;
  std::atomic<cudaError_t> last_error_ = cudaSuccess;
};

Device& device();

}  // namespace cudaemu
