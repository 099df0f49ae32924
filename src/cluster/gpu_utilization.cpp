#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include <dlfcn.h>

#include <mgpu/cluster/gpu_utilization.hpp>
#include <mgpu/cluster/try_together.hpp>

namespace mgpu::cluster {
namespace {

/// The functions of NVML that UtilizationMeter calls, and their types. A function that succeeds
/// returns 0.
/// Source: NVML API reference, functions nvmlInit, nvmlDeviceGetHandleByUUID and
///         nvmlDeviceGetUtilizationRates.
class Nvml {
public:
  struct Rates {
    unsigned int gpu = 0;  // time in which kernels ran, in percent of NVML's last sample period
    unsigned int memory = 0;
  };

  explicit Nvml(const char* library) : library_(::dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    load("nvmlInit_v2", init_);
    load("nvmlShutdown", shutdown_);
    load("nvmlDeviceGetHandleByUUID", by_uuid_);
    load("nvmlDeviceGetUtilizationRates", rates_);
    is_ready_ = init_ != nullptr && shutdown_ != nullptr && by_uuid_ != nullptr &&
                rates_ != nullptr && init_() == 0;
  }
  ~Nvml() {
    if (is_ready_) shutdown_();
    if (library_ != nullptr) ::dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  Nvml(Nvml&&) = delete;
  Nvml& operator=(Nvml&&) = delete;

  /// Returns the handle of a GPU; nullptr if NVML is not available or does not know the GPU.
  void* find(const std::string& uuid) const {
    void* device = nullptr;
    return is_ready_ && by_uuid_(uuid.c_str(), &device) == 0 ? device : nullptr;
  }

  bool read(void* device, Rates& rates) const { return rates_(device, &rates) == 0; }

private:
  template <class Function>
  void load(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
  }

  void* library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*by_uuid_)(const char* uuid, void** device) = nullptr;
  int (*rates_)(void* device, Rates* rates) = nullptr;
  bool is_ready_ = false;
};

}  // namespace

struct UtilizationMeter::State {
  State(const std::string& uuid, const char* library, std::chrono::milliseconds every)
      : nvml(library), device(nvml.find(uuid)), period(every) {
    if (device != nullptr) thread = std::thread([this] { sample(); });
  }
  ~State() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  void sample() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, period, [&] { return is_over; })) {
      Nvml::Rates rates;
      if (!nvml.read(device, rates)) continue;
      ++samples;
      sum += rates.gpu;
      most = std::max(most, rates.gpu);
    }
  }

  Nvml nvml;
  void* device;
  std::chrono::milliseconds period;
  std::mutex mutex;
  std::condition_variable wake;
  bool is_over = false;
  std::int64_t samples = 0;
  std::int64_t sum = 0;   // sum of Rates::gpu over all samples, in percent
  unsigned int most = 0;  // percent
  std::thread thread;
};

UtilizationMeter::UtilizationMeter(const std::string& uuid, const char* library,
                                   std::chrono::milliseconds period)
    : state_(std::make_unique<State>(uuid, library, period)) {}

UtilizationMeter::~UtilizationMeter() = default;

Utilization UtilizationMeter::read() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->samples == 0) return {};
  return {state_->samples,
          0.01 * static_cast<double>(state_->sum) / static_cast<double>(state_->samples),
          0.01 * state_->most};
}

std::vector<Utilization> gather_utilization(const Group& world, const Utilization& mine) {
  return all_gather_records(world, std::vector{mine});
}

std::string utilization_lines(const std::vector<Utilization>& of_ranks) {
  std::string text;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    const Utilization& gpu = of_ranks[rank];
    std::array<char, 96> line{};
    std::snprintf(line.data(), line.size(), "%.0f %% on average, %.0f %% at most, %lld samples",
                  100.0 * gpu.mean, 100.0 * gpu.peak, static_cast<long long>(gpu.samples));
    text += "GPU utilization: GPU " + std::to_string(rank) + ": " +
            (gpu.samples == 0 ? "unknown, because NVML gave no samples" : line.data()) + '\n';
  }
  return text;
}

}  // namespace mgpu::cluster
