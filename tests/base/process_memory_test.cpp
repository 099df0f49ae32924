#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <mgpu/base/process_memory.hpp>

namespace mgpu {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Runs one disabled test in a separate process and returns its output.
std::string output_of(const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "exec '" + self +
                              "' --gtest_also_run_disabled_tests"
                              " --gtest_filter=ProcessMemoryTest.DISABLED_" +
                              test;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  for (char line[256]; std::fgets(line, sizeof line, pipe) != nullptr;)
    output += line;
  pclose(pipe);
  return output;
}

/// Returns the number that follows `name` in the output, 0 without it.
unsigned long long number_after(const std::string& output, const std::string& name) {
  const std::size_t place = output.find(name);
  return place == std::string::npos ? 0 : std::stoull(output.substr(place + name.size()));
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Returns the number of page faults while a block is allocated, filled and freed.
long faults_of_a_block() {
  const long before = page_faults();
  const std::vector<char> block(64 * kMiB, 1);
  EXPECT_EQ(block.back(), 1);
  return page_faults() - before;
}

bool address_space_is_free() {
  rlimit space{};
  rlimit data{};
  getrlimit(RLIMIT_AS, &space);
  getrlimit(RLIMIT_DATA, &data);
  int overcommit = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  return overcommit != 2 && space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY;
}

/// Returns whether a part of the heap was requested in huge pages (hg), granted or not.
bool heap_asks_for_huge_pages() {
  std::ifstream maps("/proc/self/smaps");
  bool in_heap = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) in_heap = line.find("[heap]") != std::string::npos;
    if (in_heap && line.starts_with("VmFlags:") && line.find(" hg") != std::string::npos)
      return true;
  }
  return false;
}

TEST(ProcessMemoryTest, DISABLED_PrintsThePeak) {
  std::printf("peak %llu\n", static_cast<unsigned long long>(host_peak_bytes()));
}

TEST(ProcessMemoryTest, DISABLED_PrintsPageFaults) {
  std::printf("before %ld\n", faults_of_a_block());
  keep_heap(256 * kMiB);
  std::printf("first %ld\n", faults_of_a_block());
  std::printf("again %ld\n", faults_of_a_block());
  std::printf("huge %d\n", heap_asks_for_huge_pages() ? 1 : 0);
  std::printf("peak %llu\n", static_cast<unsigned long long>(host_peak_bytes()));
}

TEST(ProcessMemoryTest, PeakIsNotThatOfTheProcessThatStartedThisOne) {
  const std::vector<char> large(256 * kMiB, 1);
  const unsigned long long peak = number_after(output_of("PrintsThePeak"), "peak ");

  EXPECT_GT(peak, 0U);
  EXPECT_LT(peak, 128 * kMiB);
  EXPECT_GT(host_peak_bytes(), large.size());
}

TEST(ProcessMemoryTest, AHeapThatIsKeptBringsNoPageTwice) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "only glibc's heap is kept";
#endif
  const std::string output = output_of("PrintsPageFaults");
  ASSERT_NE(output.find("again "), std::string::npos) << output;

  EXPECT_GT(number_after(output, "before "), 16U) << output;
  EXPECT_LT(number_after(output, "again "), 16U) << output;
  EXPECT_LT(number_after(output, "peak "), 160 * kMiB) << output;  // reserved space does not count
                                                                   // as memory
  if (std::filesystem::exists("/sys/kernel/mm/transparent_hugepage") && address_space_is_free()) {
    EXPECT_EQ(number_after(output, "huge "), 1U) << output;
  }
}

}  // namespace
}  // namespace mgpu
