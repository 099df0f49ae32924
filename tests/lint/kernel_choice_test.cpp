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

}  // namespace
