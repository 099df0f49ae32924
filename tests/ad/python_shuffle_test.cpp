// Tests the random numbers of Python. CPython 3.11.7 gave the expected numbers:
// random.Random(seed), with the calls that the tests name.
#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/python_shuffle.hpp>

namespace mgpu::ad {
namespace {

TEST(PythonRandomTest, GivesTheWordsOfSeedZero) {
  PythonRandom random(0);

  EXPECT_EQ(random.getrandbits(32), 3626764237U);
  EXPECT_EQ(random.getrandbits(32), 1654615998U);
  EXPECT_EQ(random.getrandbits(32), 3255389356U);
}

TEST(PythonRandomTest, SeedsWithMoreThan32BitsTakeTwoWords) {
  PythonRandom random(5000000000);

  EXPECT_EQ(random.getrandbits(32), 372202282U);
  EXPECT_EQ(random.getrandbits(32), 4101146408U);
  EXPECT_EQ(random.getrandbits(32), 2606164382U);
  EXPECT_EQ(random.below(1000), 885U);
}

TEST(PythonRandomTest, BelowRejectsAndDrawsAgain) {
  PythonRandom random(0);
  for (int i = 0; i < 3; ++i)
    random.getrandbits(32);

  EXPECT_EQ(random.below(1000), 911U);
  EXPECT_EQ(random.below(1000), 430U);
  EXPECT_EQ(random.below(1000), 41U);
}

TEST(PythonRandomTest, ShufflesAsPythonDoes) {
  std::vector<int> items(10);
  std::iota(items.begin(), items.end(), 0);

  PythonRandom(7).shuffle(items);

  EXPECT_EQ(items, (std::vector<int>{8, 3, 1, 4, 7, 0, 9, 6, 2, 5}));
}

TEST(PythonRandomTest, ShufflingNothingOrOneThingIsAllowed) {
  std::array<int, 1> one{5};

  PythonRandom(0).shuffle({});
  PythonRandom(0).shuffle(one);

  EXPECT_EQ(one[0], 5);
}

}  // namespace
}  // namespace mgpu::ad
