#include "device.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "grid.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace cudaemu {
namespace {

constexpr std::size_t kSharedBytes = 48 << 10;      // the default limit
constexpr std::size_t kMaxSharedBytes = 227 << 10;  // limit of an H100

}  // namespace

Device& device() {
  static Device the_device;
  return the_device;
}

Device::Device() : counts_(settings().counts) {}

Device::~Device() {
  if (!counts_) return;
  for (const auto& [name, count] : launches_)
    std::fprintf(stderr, "cudaemu: %llu launches of %s\n", static_cast<unsigned long long>(count),
                 name.c_str());
}

void Device::launch(Launch launch) {
  std::unique_lock lock(mutex_);
  const auto allowed = allowed_shared_.find(launch.kernel);
  const std::size_t bytes = allowed != allowed_shared_.end() ? allowed->second : 0;
  if (!is_possible(launch, std::max(bytes, kSharedBytes))) {
    last_error_ = cudaErrorInvalidConfiguration;
    return;
  }
  if (!is_on_current_device(launch.stream)) {
    last_error_ = cudaErrorInvalidResourceHandle;
    return;
  }
  ++launches_[launch.name];
  lock.unlock();  // work of other streams may have to begin before this kernel
  const cudaStream_t stream = launch.stream;
  queue_in(stream, [this, launch = std::move(launch)] {
    const std::lock_guard running(mutex_);
    run(launch);
  });
}

std::int64_t Device::launches() {
  const std::lock_guard lock(mutex_);
  std::int64_t total = 0;
  for (const auto& [name, count] : launches_)
    total += static_cast<std::int64_t>(count);
  return total;
}

void Device::run(const Launch& launch) {
  const std::string problem = run_grid(launch);
  if (problem.empty()) return;
  std::fprintf(stderr, "cudaemu: %s: %s\n", launch.name.c_str(), problem.c_str());
  last_error_ = cudaErrorLaunchFailure;
}

void Device::queue(std::function<void()> work) {
  if (!settings().is_lazy) Turns::wait_for(Turns::next());
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (!settings().is_lazy) wait();
}

void Device::wait() {
  const std::lock_guard lock(mutex_);
  while (!queue_.empty()) {
    const std::function<void()> first = std::move(queue_.front());
    queue_.pop_front();
    first();
  }
}

void launch(Launch launch) {
  device().launch(std::move(launch));
}

std::int64_t launches() {
  return device().launches();
}

bool allow_shared(const void* kernel, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kMaxSharedBytes) return false;
  device().allow_shared(kernel, static_cast<std::size_t>(bytes));
  return true;
}

}  // namespace cudaemu
