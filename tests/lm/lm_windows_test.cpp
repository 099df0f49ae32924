#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

namespace mgpu::lm {
namespace {

/// Examples of these lengths; ids count up over all of them, and all are learned.
LmExamples of_lengths(const std::vector<std::int64_t>& lengths) {
  LmExamples examples;
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < length; ++i)
      examples.ids.push_back(std::ssize(examples.ids));
    examples.ends.push_back(std::ssize(examples.ids));
  }
  examples.is_learned.assign(examples.ids.size(), 1);
  return examples;
}

TEST(LmWindowsTest, EveryExampleIsInOneWindowWhole) {
  const LmWindows windows(of_lengths({5, 3, 8, 2, 7, 4, 6, 1}), 8, 0);

  std::vector<std::int64_t> seen;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    LmBatch batch;
    windows.append(w, batch);
    EXPECT_LE(windows.tokens(w), 8);
    EXPECT_EQ(std::ssize(batch.targets), windows.tokens(w));
    for (const TokenRun& run : batch.runs)
      seen.insert(seen.end(), run.ids.begin(), run.ids.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> all(36);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(LmWindowsTest, TheLongestGoFirstIntoTheFullestWindowThatHasRoom) {
  // 8 | 7 + 1 | 6 + 2 | 5 + 3 | 4: no room is wasted but in the last.
  const LmWindows windows(of_lengths({5, 3, 8, 2, 7, 4, 6, 1}), 8, 0);

  EXPECT_EQ(windows.size(), 5U);
  EXPECT_DOUBLE_EQ(windows.fill(), 36.0 / 40.0);
}

TEST(LmWindowsTest, TargetsAreTheLearnedTokensThatFollow) {
  LmExamples examples = of_lengths({4, 3});
  examples.is_learned = {1, 0, 1, 1, 1, 1, 0};
  const LmWindows windows(examples, 8, 0);
  constexpr std::int64_t kIgnore = kernels::kIgnoreTarget;

  LmBatch batch;
  windows.append(0, batch);

  EXPECT_EQ(batch.targets,
            (std::vector<std::int64_t>{kIgnore, 2, 3, kIgnore, 5, kIgnore, kIgnore}));
  EXPECT_EQ(windows.predictions(0), 3);
}

TEST(LmWindowsTest, AnEpochVisitsEveryWindowOnceInAnOrderOfItsOwn) {
  const LmWindows windows(of_lengths(std::vector<std::int64_t>(50, 8)), 8, 3);

  std::vector<std::size_t> first;
  std::vector<std::size_t> second;
  for (std::uint64_t i = 0; i < 50; ++i) {
    first.push_back(windows.window_at(i));
    second.push_back(windows.window_at(50 + i));
  }

  EXPECT_NE(first, second);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 50U);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 50U);
}

TEST(LmWindowsTest, AnExampleLongerThanAWindowIsRefused) {
  EXPECT_THROW(LmWindows(of_lengths({9}), 8, 0), ShapeError);
}

TEST(LmWindowsTest, OtherExamplesHaveAnotherNumber) {
  const LmExamples examples = of_lengths({4, 3});
  LmExamples other = examples;
  other.is_learned[2] = 0;
  LmExamples cut = examples;
  cut.ends[0] = 3;

  EXPECT_NE(crc_of(examples), crc_of(other));
  EXPECT_NE(crc_of(examples), crc_of(cut));
}

}  // namespace
}  // namespace mgpu::lm
