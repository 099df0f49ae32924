#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// How busy a GPU was: the share of time in which it ran kernels.
struct Utilization {
  std::int64_t samples = 0;  // number of samples; 0: the utilization is unknown
  double mean = 0.0;         // in [0, 1]
  double peak = 0.0;         // highest sample, in [0, 1]
};

/// Samples the utilization of a GPU in a separate thread, with the driver's NVML library. The
/// constructor loads this library. The numbers are those of nvidia-smi, so they include the kernels
/// of other processes.
class UtilizationMeter {
public:
  static constexpr const char* kNvml = "libnvidia-ml.so.1";

  /// Starts to sample the GPU with this uuid ("GPU-e7b3bccd-..."), one sample per `period`. If the
  /// NVML library `library` is missing, or does not know the GPU, there are no samples.
  explicit UtilizationMeter(const std::string& uuid, const char* library = kNvml,
                            std::chrono::milliseconds period = std::chrono::seconds(1));
  ~UtilizationMeter();
  UtilizationMeter(const UtilizationMeter&) = delete;
  UtilizationMeter& operator=(const UtilizationMeter&) = delete;
  UtilizationMeter(UtilizationMeter&&) = delete;
  UtilizationMeter& operator=(UtilizationMeter&&) = delete;

  /// Returns the utilization over all samples so far.
  Utilization read() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns on every rank the utilizations that all ranks have measured, ordered by rank.
/// Ranks:  collective over `world`.
std::vector<Utilization> gather_utilization(const Group& world, const Utilization& mine);

/// Formats a line for each rank: "GPU utilization: GPU 0: 83 % on average, 100 % at most, 512
/// samples". The number after "GPU" is the rank.
std::string utilization_lines(const std::vector<Utilization>& of_ranks);

}  // namespace mgpu::cluster
