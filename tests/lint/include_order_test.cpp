// The dependency order of src/README.md, checked: a module may include only what is below it.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace {

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {}},
    {"kernels", {"base"}},
    {"cluster", {"base"}},
    {"data", {"base", "cluster"}},
    {"store", {"base", "cluster"}},
    {"model", {"base", "cluster", "kernels"}},
    {"jobs", {"base", "cluster", "store"}},
    {"report", {"base", "cluster", "store"}},
    {"infer", {"base", "cluster", "kernels", "model"}},
    {"train", {"base", "cluster", "kernels", "model"}},
    {"algorithms", {"base", "cluster", "kernels", "data", "model", "infer", "train"}},
    {"app",
     {"base", "kernels", "cluster", "data", "store", "model", "jobs", "report", "infer", "train",
      "algorithms"}},
};

/// "include/mgpu/train/amp.hpp" -> "train"; "" outside the modules.
std::string module_of(const std::filesystem::path& file) {
  static const std::regex kModule(R"((?:^|/)(?:include/mgpu|src)/([a-z]+)/|(?:^|/)(kernels)/)");
  std::smatch m;
  const std::string path = file.generic_string();
  if (!std::regex_search(path, m, kModule)) return "";
  return m[1].matched ? m[1].str() : m[2].str();
}

TEST(IncludeOrder, EveryModuleLooksOnlyDown) {
  const std::regex include(R"(^\s*#include\s*<mgpu/([a-z]+)/)");
  const std::filesystem::path root = MGPU_SOURCE_DIR;
  for (const char* top : {"include", "src", "kernels"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / top)) {
      const std::string module = module_of(std::filesystem::relative(entry.path(), root));
      if (!entry.is_regular_file() || module.empty()) continue;
      ASSERT_TRUE(kMayInclude.contains(module)) << entry.path() << ": unknown module " << module;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        std::smatch m;
        if (!std::regex_search(line, m, include) || m[1] == module) continue;
        EXPECT_TRUE(kMayInclude.at(module).contains(m[1]))
            << entry.path().string() << ':' << number << ": " << module << " may not include "
            << m[1];
      }
    }
  }
}

}  // namespace
