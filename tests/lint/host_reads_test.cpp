// Checks that module lm reads from a device through tensor::read_back() alone, which counts.
// Decoding waits for the device once in several steps; on a CPU, another read would show in no
// other test.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

TEST(HostReads, GoThroughOneHelper) {
  static const std::regex kRead(R"(\.item\b|\.cpu\(|\bkCPU\b|\bDeviceType::CPU\b)");
  int checked = 0;
  for (const char* folder : {"decode", "forward", "cache"}) {
    const fs::path path = fs::path(MGPU_SOURCE_DIR) / "src/lm" / folder;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      std::ifstream file(entry.path());
      const std::string text(std::istreambuf_iterator<char>(file), {});
      std::smatch found;
      EXPECT_FALSE(std::regex_search(text, found, kRead))
          << entry.path().string() << ": " << found.str() << ": ask tensor::read_back()";
      if (text.find("read_back(") != std::string::npos) ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
