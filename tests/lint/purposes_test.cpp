// Tests that no two purposes of random numbers have the same number. Their random numbers would be
// equal.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

class PurposesTest : public testing::Test {
protected:
  /// Adds the names and numbers that `pattern` finds in the text.
  void collect(const std::string& text, const std::regex& pattern) {
    for (auto m = std::sregex_iterator(text.begin(), text.end(), pattern);
         m != std::sregex_iterator(); ++m) {
      const auto [other, is_new] = names_.emplace(std::stoi((*m)[2]), (*m)[1]);
      EXPECT_TRUE(is_new) << other->second << " and " << (*m)[1] << " have the number "
                          << other->first;
    }
  }

  std::map<int, std::string> names_;  // by number
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(PurposesTest, NoNumberIsUsedTwice) {
  const fs::path top = MGPU_SOURCE_DIR;
  const std::string shared = text_of(top / "include/mgpu/base/random_streams.hpp");
  const std::size_t begin = shared.find("enum class Purpose");
  ASSERT_NE(begin, std::string::npos);
  collect(shared.substr(begin, shared.find("};", begin) - begin), std::regex(R"((\w+) = (\d+),)"));
  EXPECT_EQ(names_.size(), 3U);

  static const std::regex kConstant(R"(\bPurpose (\w+)\{(\d+)\};)");
  for (const char* folder : {"include", "src", "kernels"})
    for (const auto& entry : fs::recursive_directory_iterator(top / folder))
      if (entry.is_regular_file()) collect(text_of(entry.path()), kConstant);
  EXPECT_GT(names_.size(), 3U);
}

}  // namespace
