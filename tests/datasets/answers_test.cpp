#include <string>

#include <gtest/gtest.h>

#include <mgpu/datasets/answers.hpp>

namespace mgpu::datasets {
namespace {

TEST(AnswersTest, TheLastClosedBoxIsTheAnswer) {
  EXPECT_EQ(find_answer(R"(\boxed{1} and \boxed{\frac{1}{2}} of 7)"), R"(\frac{1}{2})");
  EXPECT_EQ(find_answer(R"(\boxed{\boxed{3}})"), "3");
  EXPECT_EQ(find_answer(R"(\boxed {\{1, 2\}})"), R"(\{1, 2\})");
  EXPECT_EQ(find_answer("#### 5\n\\boxed{4} then \\boxed{5"), "4");
}

TEST(AnswersTest, WithoutABoxTheMarkedLineIsTheAnswer) {
  EXPECT_EQ(find_answer("1 + 1\n#### 2\n#### 1,234 \r\nand 5"), "1,234");
  EXPECT_EQ(find_answer("7\n####"), "7");
  EXPECT_EQ(find_answer(R"(\boxed{\left\{ 1, 2 \right.})"), R"(\left\{ 1, 2 \right.)");
  EXPECT_EQ(find_answer(R"(\boxed{1 \} 2})"), R"(1 \} 2)");
}

TEST(AnswersTest, OtherwiseTheLastNumberIsTheAnswer) {
  EXPECT_EQ(find_answer("12 ducks lay 1,024.50 eggs."), "1,024.50");
  EXPECT_EQ(find_answer("it is -3"), "-3");
  EXPECT_EQ(find_answer("10-3"), "3");
  EXPECT_EQ(find_answer(R"(so $x^2 = \dfrac{3}{4}$, H2)"), R"(\frac{3}{4})");
  EXPECT_EQ(find_answer("1 1/2 cups"), "1 1/2");
  EXPECT_EQ(find_answer("It is $42$, after 3 days."), "42");
  EXPECT_EQ(find_answer(R"($x$ is $\dfrac{1}{2}$ of $y$ in step 7)"), R"(\frac{1}{2})");
  EXPECT_EQ(find_answer("$5$ or $6$? 7 in all: #"), "6");
  EXPECT_EQ(find_answer("$5 and $6 make $11"), "11");
  EXPECT_EQ(find_answer("They cost $3 and 4 $ of 5"), "5");
  EXPECT_EQ(find_answer(R"(\$3\$ for 8)"), "8");
  EXPECT_EQ(find_answer("75 % of x_2"), "75 %");
  EXPECT_EQ(find_answer("none at all"), std::nullopt);
  EXPECT_EQ(find_answer(""), std::nullopt);
}

TEST(AnswersTest, NumbersAreComparedWithoutRounding) {
  EXPECT_TRUE(same_answer("0.50", R"(\frac{1}{2})"));
  EXPECT_TRUE(same_answer("2/4", R"(\dfrac12)"));
  EXPECT_TRUE(same_answer(R"(1 \frac{1}{2})", "1.5"));
  EXPECT_TRUE(same_answer(R"(-\frac{1}{2})", R"(\frac{-1}{2})"));
  EXPECT_TRUE(same_answer(R"(\frac{1}{-2})", "-.5"));
  EXPECT_TRUE(same_answer("-0", "0"));
  EXPECT_TRUE(same_answer("1.5e3", R"(1.5 \times 10^{3})"));
  EXPECT_FALSE(same_answer("0.333333333333333333333", R"(\frac{1}{3})"));
  EXPECT_FALSE(same_answer("9007199254740993", "9007199254740992"));
  EXPECT_FALSE(same_answer("1/0", "0"));
  const std::string long_number(100'000, '7');
  EXPECT_TRUE(same_answer(long_number + ".0", long_number));
  EXPECT_FALSE(same_answer(long_number + "1", long_number + "2"));
  const std::string long_zeros = "3" + std::string(3000, '0');
  EXPECT_TRUE(same_answer(long_zeros + "/6" + std::string(2999, '0'), "5"));
}

TEST(AnswersTest, SeparatorsSignsAndUnitsDoNotMatter) {
  EXPECT_TRUE(same_answer("1,234,567", "1234567"));
  EXPECT_TRUE(same_answer(R"(1{,}234)", R"(1\,234)"));
  EXPECT_TRUE(same_answer(R"(\$18.00)", "$18"));
  EXPECT_TRUE(same_answer(R"(5\text{ cm}^2)", "5"));
  EXPECT_TRUE(same_answer("5 km/h", "5"));
  EXPECT_TRUE(same_answer(R"(45^\circ)", "45°"));
  EXPECT_TRUE(same_answer("**18**.", "18"));
  EXPECT_TRUE(same_answer("x = 5", "5"));
  EXPECT_TRUE(same_answer("50%", "50"));
  EXPECT_TRUE(same_answer("0.5", R"(50\%)"));
  EXPECT_FALSE(same_answer("50%", "50.5"));
  EXPECT_FALSE(same_answer("12,34", "1234"));
  EXPECT_FALSE(same_answer("5 million", "5"));
  EXPECT_FALSE(same_answer("5x", "5"));
  EXPECT_FALSE(same_answer("5 or 6", "5"));
}

TEST(AnswersTest, OtherAnswersAreComparedAsTexts) {
  EXPECT_TRUE(same_answer(R"(\text{(B)})", "b"));
  EXPECT_TRUE(same_answer("(1, 0.5)", R"(\left(1,\frac12\right))"));
  EXPECT_FALSE(same_answer("(1, 2]", "(1, 2)"));
  EXPECT_FALSE(same_answer("(2, 1)", "(1, 2)"));
  EXPECT_TRUE(same_answer("x^{2} + 1", "x^2+1"));
  EXPECT_FALSE(same_answer("", ""));
}

TEST(AnswersTest, ACompletionIsRightIfItStatesTheAnswerOfTheSolution) {
  EXPECT_TRUE(is_right("so 9 * 2 is 18 dollars", "16 - 7 = 9\n#### 18"));
  EXPECT_FALSE(is_right("so 9 * 2 is 19", "16 - 7 = 9\n#### 18"));
  EXPECT_TRUE(is_right(R"(\boxed{\frac{2}{4}})", "0.5"));
  EXPECT_FALSE(is_right("I do not know", "18"));
}

TEST(AnswersTest, HostileTextsAreReadInLinearTime) {
  std::string boxes;
  for (int i = 0; i < 200'000; ++i)
    boxes += R"(\boxed{\text{-)";
  EXPECT_EQ(find_answer(boxes), std::nullopt);
  EXPECT_FALSE(same_answer(boxes, "1"));
  EXPECT_FALSE(same_answer(std::string(200'000, '('), std::string(200'001, '(')));
}

}  // namespace
}  // namespace mgpu::datasets
