// Tests that every kernel is swept, including new ones.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

const fs::path kSource = MGPU_SOURCE_DIR;

/// Returns the text of all files with this ending.
std::string text_of(const fs::path& folder, const std::string& ending) {
  std::string text;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().ends_with(ending)) continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST(EveryKernelTest, IsSweptAndHasAGpuTest) {
  const std::string ending = "_cuda.cu";
  const std::string sweeps = text_of(kSource / "tests/cudaemu/sweep", "_sweep.cpp");
  const std::string gpu_tests = text_of(kSource / "tests/kernels", "_gpu_test.cpp");
  int checked = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "kernels")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(ending)) continue;
    const std::string call = "cuda::" + file.substr(0, file.size() - ending.size()) + "(";
    EXPECT_NE(sweeps.find(call), std::string::npos) << call << " in no tests/cudaemu/sweep";
    EXPECT_NE(gpu_tests.find(call), std::string::npos) << call << " in no *_gpu_test.cpp";
    ++checked;
  }
  EXPECT_GE(checked, 1);
}

}  // namespace
