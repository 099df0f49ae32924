// The dependency order of src/README.md, checked: a module may include only what is below it,
// and the headers of a library stay in the modules that own it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Names = std::set<std::string>;
namespace fs = std::filesystem;

/// Modules, lowest first, and what each may include.
const std::vector<std::pair<std::string, Names>> kModules = {
    {"base", {}},
    {"kernels", {"base"}},
    {"cluster", {"base"}},
    {"watch", {"base", "cluster"}},
    {"data", {"base"}},
    {"text", {"base"}},
    {"store", {"base", "cluster"}},
    {"input", {"base", "cluster", "store"}},
    {"model", {"base", "kernels"}},
    {"language", {"base", "kernels", "cluster", "store", "model"}},
    {"schedule", {"base", "cluster", "store"}},
    {"report", {"base", "cluster"}},
    {"train", {"base", "kernels", "cluster", "model"}},
    {"algorithms", {"base", "kernels", "data", "model", "language", "train"}},
    {"jobs",
     {"base", "kernels", "cluster", "data", "text", "store", "input", "model", "language",
      "schedule", "report", "train", "algorithms"}},
    {"app",
     {"base", "kernels", "cluster", "data", "text", "store", "input", "model", "language",
      "schedule", "report", "train", "algorithms", "jobs", "watch"}},
};

/// Where a library's headers, named by how they begin, may appear.
const std::map<std::string, Names> kOwners = {
    {"arrow/", {"input"}},
    {"ATen/", {"model", "language", "train", "algorithms", "jobs", "app"}},
    {"c10/", {"model"}},
    {"cuda", {"kernels", "cluster"}},
    {"cxxopts", {"app"}},
    {"hdf5", {"store"}},
    {"hwy/", {"kernels"}},
    {"mpi.h", {"cluster", "store", "app"}},
    {"nccl.h", {"cluster"}},
    {"nlohmann/", {"base", "store", "report", "app"}},
    {"openssl/", {"base"}},
    {"parquet/", {"input"}},
    {"pcre2.h", {"text"}},
    {"simdjson", {"store", "text"}},
    {"torch/", {"model", "language", "app"}},
    {"unicode/", {"text"}},
    {"jinja/", {"text"}},
    {"yaml-cpp/", {"base"}},
};

const Names* may_include(const std::string& module) {
  const auto row = std::find_if(kModules.begin(), kModules.end(),
                                [&](const auto& entry) { return entry.first == module; });
  return row == kModules.end() ? nullptr : &row->second;
}

/// "include/mgpu/train/train_loop.hpp" -> "train"; "" outside the modules.
std::string module_of(const fs::path& file) {
  static const std::regex kModule(R"((?:^|/)(?:include/mgpu|src)/([a-z]+)/|(?:^|/)(kernels)/)");
  std::smatch m;
  const std::string path = file.generic_string();
  if (!std::regex_search(path, m, kModule)) return "";
  return m[1].matched ? m[1].str() : m[2].str();
}

/// Calls visit("file:line", module of the file, "mgpu/base/error.hpp") for each <...> include.
void for_each_include(
    const std::function<void(const std::string&, const std::string&, const std::string&)>& visit) {
  static const std::regex kInclude(R"(^\s*#include\s*<([^>]+)>)");
  const fs::path root = MGPU_SOURCE_DIR;
  for (const char* top : {"include", "src", "kernels"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string module = module_of(fs::relative(entry.path(), root));
      if (!entry.is_regular_file() || module.empty()) continue;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        std::smatch m;
        if (!std::regex_search(line, m, kInclude)) continue;
        visit(entry.path().string() + ":" + std::to_string(number), module, m[1]);
      }
    }
  }
}

TEST(IncludeOrder, EveryModuleLooksOnlyDown) {
  static const std::regex kOurs("^mgpu/([a-z]+)/");
  int checked = 0;
  for_each_include([&](const std::string& place, const std::string& module,
                       const std::string& header) {
    const Names* allowed = may_include(module);
    ASSERT_NE(allowed, nullptr) << place << ": unknown module " << module;
    std::smatch m;
    if (!std::regex_search(header, m, kOurs) || m[1] == module) return;
    EXPECT_TRUE(allowed->contains(m[1])) << place << ": " << module << " may not include " << m[1];
    ++checked;
  });
  EXPECT_GT(checked, 0);
}

TEST(IncludeOrder, LibrariesStayWithTheirOwners) {
  Names seen;
  for_each_include(
      [&](const std::string& place, const std::string& module, const std::string& header) {
        for (const auto& [library, owners] : kOwners) {
          if (!header.starts_with(library)) continue;
          EXPECT_TRUE(owners.contains(module)) << place << ": <" << header << "> in " << module;
          seen.insert(library);
        }
      });
  EXPECT_EQ(seen.size(), kOwners.size()) << "a library of the table is included nowhere";
}

TEST(IncludeOrder, EveryModuleComesAfterWhatItUses) {
  Names below;
  for (const auto& [module, uses] : kModules) {
    EXPECT_TRUE(std::includes(below.begin(), below.end(), uses.begin(), uses.end())) << module;
    below.insert(module);
  }
}

/// Rows "| `store` | base cluster | ..." of the table of modules, in their order.
TEST(IncludeOrder, SourceReadmeSaysTheSame) {
  static const std::regex kRow(R"(^\| `([a-z]+)` \| ([a-z ]*)\|)");
  std::ifstream readme(fs::path(MGPU_SOURCE_DIR) / "src/README.md");
  ASSERT_TRUE(readme);
  std::vector<std::pair<std::string, Names>> rows;
  for (std::string line; std::getline(readme, line);) {
    std::smatch m;
    if (!std::regex_search(line, m, kRow)) continue;
    std::istringstream words(m[2]);
    rows.emplace_back(m[1], Names{std::istream_iterator<std::string>(words), {}});
  }
  EXPECT_EQ(rows, kModules);
}

}  // namespace
