// Tests the limits of control groups with folders that look like those of cgroup versions 1 and 2.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/memory_limits.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

class MemoryLimitsTest : public testing::Test {
protected:
  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name) << text;
  }

  std::vector<MemoryLimit> limits(const std::string& groups) const {
    write("groups", groups);
    return memory_limits(folder_.path() / "groups", folder_.path() / "cgroup");
  }

private:
  testing_support::TemporaryFolder folder_;
};

// Slurm limits the group of the job. The group of the step has no limit.
TEST_F(MemoryLimitsTest, TheLimitOfAGroupAboveHoldsToo) {
  write("cgroup/job_7/step_0/memory.max", "max\n");
  write("cgroup/job_7/step_0/memory.current", "5\n");
  write("cgroup/job_7/memory.max", "4096\n");
  write("cgroup/job_7/memory.current", "1000\n");
  write("cgroup/job_7/memory.stat", "anon 600\ninactive_file 300\nactive_file 100\n");

  const auto found = limits("0::/job_7/step_0\n");

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 4096U);
  EXPECT_EQ(found[0].used_bytes, 700U);
}

TEST_F(MemoryLimitsTest, TheGroupOfAContainerIsAtTheRoot) {
  write("cgroup/memory.max", "64\n");
  write("cgroup/memory.current", "16\n");

  const auto found = limits("0::/docker/abc\n");

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 64U);
  EXPECT_EQ(found[0].used_bytes, 16U);
}

TEST_F(MemoryLimitsTest, GroupsOfVersion1AreRead) {
  write("cgroup/memory/slurm/job_7/memory.limit_in_bytes", "8192\n");
  write("cgroup/memory/slurm/job_7/memory.usage_in_bytes", "100\n");
  write("cgroup/memory/slurm/job_7/memory.stat", "inactive_file 10\ntotal_inactive_file 40\n");

  const auto found = limits("12:cpu,cpuacct:/x\n9:memory:/slurm/job_7\n1:name=systemd:/y\n");

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 8192U);
  EXPECT_EQ(found[0].used_bytes, 60U);
}

TEST_F(MemoryLimitsTest, AMachineWithoutGroupsHasNoLimit) {
  EXPECT_TRUE(limits("").empty());
  EXPECT_TRUE(limits("malformed\n0::/none\n").empty());
}

}  // namespace
}  // namespace mgpu
