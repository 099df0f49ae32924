// Checks the dependency order of src/README.md: a module may include only lower ones, and the
// headers of a library stay in the modules that own it.
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

/// Modules, lowest first, and the modules that each may include.
const std::vector<std::pair<std::string, Names>> kModules = {
    {"base", {}},
    {"formats", {"base"}},
    {"config", {"base", "formats"}},
    {"kernels", {"base"}},
    {"cluster", {"base", "config"}},
    {"watch", {"base", "config", "cluster"}},
    {"text", {"base", "config"}},
    {"store", {"base", "config", "cluster", "formats"}},
    {"input", {"base", "config", "cluster", "formats", "store"}},
    {"tensor", {"base", "kernels"}},
    {"train", {"base", "config", "kernels", "cluster", "tensor"}},
    {"lm", {"base", "config", "kernels", "cluster", "formats", "tensor", "train"}},
    {"ad", {"base", "config", "kernels", "tensor", "train"}},
    {"datasets", {"base", "config", "formats", "input"}},
    {"rewards", {"base", "config", "formats", "input", "text", "datasets"}},
    {"report", {"base", "config", "cluster", "formats"}},
    {"run", {"base", "config", "kernels", "cluster", "store", "tensor", "train", "lm", "report"}},
    {"rows",
     {"base", "config", "cluster", "text", "formats", "store", "input", "lm", "datasets", "rewards",
      "report", "run"}},
    {"recipes",
     {"base", "config", "kernels", "cluster", "text", "formats", "store", "input", "tensor",
      "train", "lm", "ad", "datasets", "rewards", "report", "run", "rows"}},
    {"jobs",
     {"base", "config", "kernels", "cluster", "text", "formats", "store", "input", "tensor",
      "train", "lm", "ad", "datasets", "rewards", "report", "run", "rows", "recipes"}},
    {"app", {"base",    "config", "kernels", "cluster", "watch",   "text", "formats",
             "store",   "input",  "tensor",  "train",   "lm",      "ad",   "datasets",
             "rewards", "report", "run",     "rows",    "recipes", "jobs"}},
};

/// The modules that may include a library's headers, by the start of the header's name.
const std::map<std::string, Names> kOwners = {
    {"arrow/", {"input"}},
    {"ATen/", {"tensor", "train", "lm", "ad", "run", "rows", "recipes", "jobs", "app"}},
    {"c10/", {"tensor"}},
    {"cuda", {"kernels", "cluster"}},
    {"cxxopts", {"app"}},
    {"hdf5", {"store"}},
    {"hwy/", {"kernels"}},
    {"mpi.h", {"cluster", "store", "app"}},
    {"nccl.h", {"cluster"}},
    {"nlohmann/", {"formats"}},
    {"openssl/", {"base"}},
    {"parquet/", {"input"}},
    {"pcre2.h", {"text"}},
    {"simdjson", {"formats", "text"}},
    {"torch/", {"tensor", "lm", "ad", "app"}},
    {"unicode/", {"text"}},
    {"jinja/", {"text"}},
    {"yaml-cpp/", {"config"}},
};

const Names* may_include(const std::string& module) {
  const auto row = std::find_if(kModules.begin(), kModules.end(),
                                [&](const auto& entry) { return entry.first == module; });
  return row == kModules.end() ? nullptr : &row->second;
}

/// Maps "include/mgpu/train/train_loop.hpp" to "train"; returns "" outside the modules.
std::string module_of(const fs::path& file) {
  static const std::regex kModule(R"((?:^|/)(?:include/mgpu|src)/([a-z]+)/|(?:^|/)(kernels)/)");
  std::smatch m;
  const std::string path = file.generic_string();
  if (!std::regex_search(path, m, kModule)) return "";
  return m[1].matched ? m[1].str() : m[2].str();
}

/// Returns the module of an include: <mgpu/train/x.hpp> and "train/x.hpp" give "train". Headers of
/// libraries and those in the source's folder give "".
std::string module_of_include(const std::string& header) {
  static const std::regex kOurs("^(?:mgpu/)?([a-z]+)/");
  std::smatch m;
  if (!std::regex_search(header, m, kOurs)) return "";
  return may_include(m[1]) == nullptr ? "" : m[1].str();
}

/// Calls visit("file:line", module of the file, "mgpu/base/error.hpp") for each include.
void for_each_include(
    const std::function<void(const std::string&, const std::string&, const std::string&)>& visit) {
  static const std::regex kInclude(R"rx(^\s*#include\s*[<"]([^>"]+)[>"])rx");
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
  int checked = 0;
  for_each_include([&](const std::string& place, const std::string& module,
                       const std::string& header) {
    const Names* allowed = may_include(module);
    ASSERT_NE(allowed, nullptr) << place << ": unknown module " << module;
    const std::string used = module_of_include(header);
    if (used.empty() || used == module) return;
    EXPECT_TRUE(allowed->contains(used)) << place << ": " << module << " may not include " << used;
    ++checked;
  });
  EXPECT_GT(checked, 0);
}

TEST(IncludeOrder, LibrariesStayWithTheirOwners) {
  Names seen;
  for_each_include(
      [&](const std::string& place, const std::string& module, const std::string& header) {
        if (fs::exists(fs::path(place).parent_path() / header)) return;  // in the same folder
        for (const auto& [library, owners] : kOwners) {
          if (!header.starts_with(library)) continue;
          EXPECT_TRUE(owners.contains(module)) << place << ": <" << header << "> in " << module;
          seen.insert(library);
        }
      });
  EXPECT_EQ(seen.size(), kOwners.size()) << "a library of the table is included nowhere";
}

/// Maps "src/jobs/classify/page.cpp" to "classify"; returns "" outside the jobs' folders.
std::string job_folder_of(const std::string& path) {
  static const std::regex kFolder("(?:^|/)jobs/([a-z_]+)/");
  std::smatch m;
  return std::regex_search(path, m, kFolder) ? m[1].str() : "";
}

TEST(IncludeOrder, NoJobIncludesAnother) {
  int checked = 0;
  for_each_include([&](const std::string& place, const std::string&, const std::string& header) {
    const std::string job = job_folder_of(place);
    const std::string used = job_folder_of(header);
    if (job.empty()) return;
    ++checked;
    EXPECT_TRUE(used.empty() || used == job) << place << ": " << job << " may not include " << used;
  });
  EXPECT_GT(checked, 0);
}

/// Maps "src/recipes/dpo/loss.cpp" to "dpo"; returns "" outside the recipes' folders.
std::string recipe_folder_of(const std::string& path) {
  static const std::regex kFolder("(?:^|/)recipes/([a-z_]+)/");
  std::smatch m;
  return std::regex_search(path, m, kFolder) ? m[1].str() : "";
}

// Recipes of language models share `lm`, which knows no other recipe.
TEST(IncludeOrder, ARecipeIncludesOnlyWhatRecipesShare) {
  int checked = 0;
  for_each_include(
      [&](const std::string& place, const std::string& module, const std::string& header) {
        if (module != "recipes") return;
        const std::string recipe = recipe_folder_of(place);
        const std::string used = recipe_folder_of(header);
        ++checked;
        EXPECT_TRUE(used.empty() || used == recipe || (used == "lm" && !recipe.empty()))
            << place << ": " << recipe << " may not include " << used;
      });
  EXPECT_GT(checked, 0);
}

TEST(IncludeOrder, JobsHaveOnePublicHeader) {
  for (const auto& entry : fs::directory_iterator(fs::path(MGPU_SOURCE_DIR) / "include/mgpu/jobs"))
    EXPECT_EQ(entry.path().filename(), "job.hpp") << "a job's headers lie beside its sources";
}

/// Returns the header of the first #include in a file; "" without one.
std::string first_include(std::istream& file) {
  static const std::regex kInclude(R"rx(^\s*#include\s*[<"]([^>"]+)[>"])rx");
  std::smatch m;
  for (std::string line; std::getline(file, line);)
    if (std::regex_search(line, m, kInclude)) return m[1];
  return "";
}

TEST(IncludeOrder, TheFirstIncludeIsFound) {
  std::istringstream file("// Words.\n#include \"x.hpp\"\n\n#include <array>\n");
  EXPECT_EQ(first_include(file), "x.hpp");
  std::istringstream empty("int x;\n");
  EXPECT_EQ(first_include(empty), "");
}

// The compiler then reads each private header without other headers before it, so the header must
// include what it needs.
TEST(IncludeOrder, ASourceIncludesItsPrivateHeaderFirst) {
  int checked = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(MGPU_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cpp") continue;
    const fs::path header = fs::path(entry.path()).replace_extension(".hpp");
    if (!fs::exists(header)) continue;
    std::ifstream file(entry.path());
    EXPECT_EQ(first_include(file), header.filename()) << entry.path().string();
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

TEST(IncludeOrder, EveryModuleComesAfterWhatItUses) {
  Names below;
  for (const auto& [module, uses] : kModules) {
    EXPECT_TRUE(std::includes(below.begin(), below.end(), uses.begin(), uses.end())) << module;
    below.insert(module);
  }
}

/// Returns the matches of `pattern` in the lines of a page, from a heading to the next heading.
std::vector<std::vector<std::string>> lines_of(const char* page, const std::string& heading,
                                               const std::regex& pattern) {
  std::ifstream file(fs::path(MGPU_SOURCE_DIR) / page);
  EXPECT_TRUE(file) << page;
  std::vector<std::vector<std::string>> found;
  bool is_below = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) is_below = line == heading;
    std::smatch m;
    if (is_below && std::regex_search(line, m, pattern)) found.emplace_back(m.begin(), m.end());
  }
  return found;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Compares kModules with the rows "| `store` | base cluster | ..." of the table of modules, in
/// their order.
TEST(IncludeOrder, SourceReadmeSaysTheSame) {
  static const std::regex kRow(R"(^\| `([a-z]+)` \| ([a-z ]*)\|)");
  std::vector<std::pair<std::string, Names>> rows;
  for (const auto& row : lines_of("src/README.md", "## Modules, lowest first", kRow)) {
    const std::vector<std::string> modules = words_of(row[2]);
    rows.emplace_back(row[1], Names(modules.begin(), modules.end()));
  }
  EXPECT_EQ(rows, kModules);
}

/// Compares kOwners with the rows "| Arrow | `arrow/` `parquet/` | input |" of the table of
/// libraries.
TEST(IncludeOrder, SourceReadmeNamesTheOwnersOfLibraries) {
  static const std::regex kRow(R"(^\| [^|`]+ \| ((?:`[^`]+` )+)\| ([a-z ]+)\|$)");
  std::map<std::string, Names> owners;
  for (const auto& row : lines_of("src/README.md", "## Headers of libraries", kRow)) {
    const std::vector<std::string> modules = words_of(row[2]);
    for (const std::string& header : words_of(row[1]))
      owners.emplace(header.substr(1, header.size() - 2), Names(modules.begin(), modules.end()));
  }
  EXPECT_EQ(owners, kOwners);
}

/// The lines of the picture of modules begin with their names, lowest first.
TEST(IncludeOrder, ArchitectureShowsTheSameOrder) {
  static const std::regex kLine(R"(^([a-z]+(?:  [a-z]+)*) {3,}\S)");
  std::vector<std::string> shown;
  for (const auto& line : lines_of("docs/architecture.md", "## Modules", kLine)) {
    const std::vector<std::string> modules = words_of(line[1]);
    shown.insert(shown.end(), modules.begin(), modules.end());
  }
  std::vector<std::string> ours;
  for (const auto& [module, uses] : kModules)
    ours.push_back(module);
  EXPECT_EQ(shown, ours);
}

}  // namespace
