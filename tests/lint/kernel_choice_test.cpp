// Tests that sources which call kernels choose between CPU and CUDA by tensor::runs_on_gpu(), which
// tests/cudaemu replaces. A choice by is_cuda() would not be tested there.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

TEST(KernelChoice, IsMadeInOnePlace) {
  static const std::regex kQuestion(R"(\bis_(cuda|cpu)\(\))");
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(MGPU_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("#include <mgpu/kernels/") == std::string::npos) continue;
    EXPECT_FALSE(std::regex_search(text, kQuestion))
        << entry.path().string() << ": ask tensor::runs_on_gpu()";
    if (text.find("runs_on_gpu(") != std::string::npos) ++checked;
  }
  EXPECT_GT(checked, 0);
}

// current_stream() makes the device of the launch current. The reducer's sums run on a stream of
// module cluster, which does the same.
TEST(KernelChoice, LaunchesPassTheCurrentStream) {
  static const std::regex kLaunch(R"(kernels::cuda::\w+\([^;]*;)");
  static const std::regex kStream(R"(tensor::current_stream\(\w+(\.\w+)?\)\);|, stream\);)");
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(MGPU_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (std::sregex_iterator at(text.begin(), text.end(), kLaunch), end; at != end; ++at) {
      EXPECT_TRUE(std::regex_search(at->str(), kStream)) << entry.path().string() << at->str();
      ++checked;
    }
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
