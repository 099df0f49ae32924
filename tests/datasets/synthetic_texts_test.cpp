#include <algorithm>

#include <gtest/gtest.h>

#include <mgpu/datasets/synthetic_texts.hpp>

namespace mgpu::datasets {
namespace {

TEST(LittleTextsTest, ALineIsAFunctionOfSeedAndNumber) {
  const std::string few = synthetic_texts(20, 7);
  const std::string many = synthetic_texts(200, 7);

  EXPECT_EQ(std::count(few.begin(), few.end(), '\n'), 20);
  EXPECT_TRUE(many.starts_with(few));
  EXPECT_FALSE(many.starts_with(synthetic_texts(20, 8)));
}

TEST(LittleTextsTest, SumsAreRight) {
  const std::string lines = synthetic_texts(500, 0);
  std::size_t sums = 0;
  for (std::size_t at = lines.find(" + "); at != std::string::npos;
       at = lines.find(" + ", at + 1)) {
    const std::size_t begin = lines.rfind('"', at) + 1;
    const int a = std::stoi(lines.substr(begin));
    const int b = std::stoi(lines.substr(at + 3));
    const std::size_t answer = lines.find("\": \" ", at) + 5;
    EXPECT_EQ(std::stoi(lines.substr(answer - 1)), a + b);
    ++sums;
  }
  EXPECT_GT(sums, 100U);
}

TEST(LittleTextsTest, NoneAreNothing) {
  EXPECT_EQ(synthetic_texts(0, 1), "");
}

}  // namespace
}  // namespace mgpu::datasets
