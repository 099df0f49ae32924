#include <set>

#include <gtest/gtest.h>

#include <mgpu/datasets/synthetic_texts.hpp>

namespace mgpu::datasets {
namespace {

TEST(SyntheticTextsTest, ARowIsAFunctionOfSeedAndIndex) {
  std::set<std::string> rows;
  for (std::int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(synthetic_text(i, 7), synthetic_text(i, 7));
    rows.insert(synthetic_text(i, 7));
  }
  EXPECT_GT(rows.size(), 15U);
  EXPECT_FALSE(rows.contains(synthetic_text(0, 8)));
}

TEST(SyntheticTextsTest, SumsAreRight) {
  int sums = 0;
  for (std::int64_t i = 0; i < 500; ++i) {
    const std::string row = synthetic_text(i, 0);
    const std::size_t plus = row.find(" + ");
    if (plus == std::string::npos) continue;
    const int a = std::stoi(row.substr(row.rfind('"', plus) + 1));
    const int b = std::stoi(row.substr(plus + 3));
    EXPECT_EQ(std::stoi(row.substr(row.find("\": \" ", plus) + 4)), a + b) << row;
    ++sums;
  }
  EXPECT_GT(sums, 100);
}

}  // namespace
}  // namespace mgpu::datasets
