// Tests the meter of GPU utilization with a library that stands in for NVML.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/gpu_utilization.hpp>

namespace mgpu::cluster {
namespace {

using std::chrono::milliseconds;

/// Waits until the meter has samples, but at most 10 s.
Utilization sampled(const UtilizationMeter& meter, std::int64_t count) {
  for (int tries = 0; tries < 10'000 && meter.read().samples < count; ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  return meter.read();
}

TEST(UtilizationMeterTest, SamplesHaveAMeanAndAPeak) {
  const UtilizationMeter meter("GPU-0", NVML_STAND_IN, milliseconds(2));
  const Utilization found = sampled(meter, 3);
  ASSERT_GE(found.samples, 3);
  const auto count = static_cast<double>(found.samples);
  EXPECT_NEAR(found.mean, (0.2 + 0.8 * (count - 1)) / count, 1e-12);
  EXPECT_NEAR(found.peak, 0.8, 1e-12);
}

TEST(UtilizationMeterTest, WithoutLibraryOrGpuThereAreNoSamples) {
  for (const auto& [uuid, library] :
       std::vector<std::pair<std::string, const char*>>{{"GPU-0", "libno_such_library.so"},
                                                        {"GPU-7", NVML_STAND_IN},
                                                        {"GPU-1", NVML_STAND_IN}}) {
    const UtilizationMeter meter(uuid, library, milliseconds(1));
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(meter.read().samples, 0) << uuid << library;
  }
}

TEST(UtilizationMeterTest, EveryRankKnowsTheGpusOfAll) {
  const Group world = Group::world();
  const double mine = 0.25 * (world.rank() + 1);
  const auto all = gather_utilization(world, {world.rank() + 1, mine, 1.0});
  ASSERT_EQ(std::ssize(all), world.size());
  for (int rank = 0; rank < world.size(); ++rank) {
    EXPECT_EQ(all[static_cast<std::size_t>(rank)].samples, rank + 1);
    EXPECT_EQ(all[static_cast<std::size_t>(rank)].mean, 0.25 * (rank + 1));
  }
}

TEST(UtilizationMeterTest, LinesHaveAFixedWording) {
  EXPECT_EQ(utilization_lines({{512, 0.834, 1.0}, {}}),
            "GPU utilization: GPU 0: 83 % on average, 100 % at most, 512 samples\n"
            "GPU utilization: GPU 1: unknown, because NVML gave no samples\n");
}

}  // namespace
}  // namespace mgpu::cluster
