#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/process_memory.hpp>

namespace mgpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// For the test below, in a process of its own.
TEST(ProcessMemoryTest, DISABLED_PrintsThePeak) {
  std::printf("peak %llu\n", static_cast<unsigned long long>(host_peak_bytes()));
}

TEST(ProcessMemoryTest, PeakIsNotThatOfTheProcessThatStartedThisOne) {
  const std::vector<char> large(256 * kMiB, 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "exec '" + self +
                              "' --gtest_also_run_disabled_tests"
                              " --gtest_filter=ProcessMemoryTest.DISABLED_PrintsThePeak";
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  unsigned long long peak = 0;
  for (char line[256]; std::fgets(line, sizeof line, pipe) != nullptr;)
    if (std::sscanf(line, "peak %llu", &peak) == 1) break;
  pclose(pipe);

  EXPECT_GT(peak, 0U);
  EXPECT_LT(peak, 128 * kMiB);
  EXPECT_GT(host_peak_bytes(), large.size());
}

}  // namespace
}  // namespace mgpu
