// Tests that a header includes the standard headers of the names that it uses. Headers are also
// compiled alone, but most of them with precompiled headers, which would hide a missing include.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

/// Maps std::<name> to its header.
const std::map<std::string, std::string> kHeaders = {
    {"array", "array"},
    {"atomic", "atomic"},
    {"chrono", "chrono"},
    {"condition_variable", "condition_variable"},
    {"deque", "deque"},
    {"exception", "exception"},
    {"exception_ptr", "exception"},
    {"filesystem", "filesystem"},
    {"function", "functional"},
    {"int32_t", "cstdint"},
    {"int64_t", "cstdint"},
    {"map", "map"},
    {"mutex", "mutex"},
    {"optional", "optional"},
    {"pair", "utility"},
    {"set", "set"},
    {"shared_ptr", "memory"},
    {"size_t", "cstddef"},
    {"span", "span"},
    {"string", "string"},
    {"string_view", "string_view"},
    {"thread", "thread"},
    {"tuple", "tuple"},
    {"uint16_t", "cstdint"},
    {"uint32_t", "cstdint"},
    {"uint64_t", "cstdint"},
    {"uint8_t", "cstdint"},
    {"unique_ptr", "memory"},
    {"unordered_map", "unordered_map"},
    {"variant", "variant"},
    {"vector", "vector"},
};

/// Returns the first groups of all matches.
std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> names;
  for (auto m = std::sregex_iterator(text.begin(), text.end(), pattern);
       m != std::sregex_iterator(); ++m)
    names.insert((*m)[1]);
  return names;
}

/// Returns the public and the private headers.
std::vector<fs::path> all_headers() {
  std::vector<fs::path> headers;
  for (const char* folder : {"include", "src"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(MGPU_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".hpp") headers.push_back(entry.path());
  return headers;
}

TEST(StandardHeaders, AreIncludedWhereTheirNamesAreUsed) {
  static const std::regex kComment("//[^\n]*");
  static const std::regex kUsed(R"(\bstd::([a-z0-9_]+))");
  static const std::regex kIncluded(R"(#include\s*<([a-z_]+)>)");
  std::set<std::string> checked;
  for (const fs::path& header : all_headers()) {
    std::ifstream file(header);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto included = found(text, kIncluded);
    for (const std::string& name : found(std::regex_replace(text, kComment, ""), kUsed)) {
      const auto row = kHeaders.find(name);
      if (row == kHeaders.end()) continue;
      EXPECT_TRUE(included.contains(row->second))
          << header.string() << ": std::" << name << " without <" << row->second << ">";
      checked.insert(name);
    }
  }
  EXPECT_GT(checked.size(), kHeaders.size() / 2);
}

}  // namespace
