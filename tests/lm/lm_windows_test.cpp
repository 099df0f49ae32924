#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

namespace mgpu::lm {
namespace {

/// Returns examples of these lengths. Ids count up over all examples, and all are learned.
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
    for (const SequenceSpan& run : batch.spans)
      seen.insert(seen.end(), run.ids.begin(), run.ids.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> all(36);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(LmWindowsTest, TheLongestGoFirstIntoTheFullestWindowThatHasRoom) {
  // 8 | 7 + 1 | 6 + 2 | 5 + 3 | 4: only the last window has unused room.
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

TEST(LmWindowsTest, MembersOfAGroupFollowEachOtherInEveryEpoch) {
  LmExamples examples = of_lengths(std::vector<std::int64_t>(24, 2));
  examples.group_size = 3;
  const LmWindows windows(examples, 8, 0);

  ASSERT_EQ(windows.size(), 24U);
  std::vector<std::vector<std::size_t>> epochs(2);
  for (std::uint64_t i = 0; i < 48; ++i) {
    const std::size_t window = windows.window_at(i);
    EXPECT_EQ(windows.examples_of(window).size(), 1U);
    const std::size_t example = windows.examples_of(window).front();
    EXPECT_EQ(example % 3, i % 3);
    epochs[i / 24].push_back(example / 3);
    EXPECT_EQ(windows.group_of(i), i / 3);
    EXPECT_EQ(epochs[i / 24][i % 24 / 3 * 3], example / 3);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(std::set<std::size_t>(epochs[0].begin(), epochs[0].end()).size(), 8U);
}

TEST(LmWindowsTest, ColumnsGoWithTheirTokensAndExamples) {
  LmExamples examples = of_lengths({4, 3, 2});
  examples.token_columns["place"] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  examples.sequence_columns["number"] = {10, 11, 12};
  const LmWindows windows(examples, 5, 0);  // 4 | 3 + 2

  LmBatch batch;
  windows.append(1, batch);

  EXPECT_EQ(batch.token_columns.at("place"), (std::vector<double>{4, 5, 6, 7, 8}));
  EXPECT_EQ(batch.sequence_columns.at("number"), (std::vector<double>{11, 12}));
}

TEST(LmWindowsTest, AColumnMayBeAddedLater) {
  LmWindows windows(of_lengths({4, 3}), 8, 0);
  windows.set_sequence_column("reward", {0.5, 0.25});
  LmBatch batch;
  windows.append_example(1, batch);

  EXPECT_EQ(batch.sequence_columns.at("reward"), std::vector{0.25});
  EXPECT_THROW(windows.set_sequence_column("reward", {0.5}), ShapeError);
  windows.append_example(0, batch);
  EXPECT_EQ(batch.sequence_columns.at("reward"), (std::vector{0.25, 0.5}));
}

TEST(LmWindowsTest, ColumnsAndGroupsThatAreNotWholeAreRefused) {
  const auto make = [](const auto& change) {
    LmExamples examples = of_lengths({4, 3, 2});
    change(examples);
    return LmWindows(examples, 8, 0);
  };

  EXPECT_THROW(make([](LmExamples& e) { e.token_columns["place"] = {0, 1}; }), ShapeError);
  EXPECT_THROW(make([](LmExamples& e) { e.sequence_columns["number"] = {0, 1}; }), ShapeError);
  EXPECT_THROW(make([](LmExamples& e) { e.group_size = 2; }), ShapeError);
  EXPECT_NO_THROW(make([](LmExamples& e) { e.group_size = 3; }));
}

TEST(LmWindowsTest, ColumnsAndGroupsChangeTheChecksum) {
  const LmExamples plain = of_lengths({4, 4});
  LmExamples with_column = plain;
  with_column.sequence_columns["reward"] = {1, 2};
  LmExamples other_values = plain;
  other_values.sequence_columns["reward"] = {1, 3};
  LmExamples in_pairs = plain;
  in_pairs.group_size = 2;

  const std::set<std::uint32_t> checksums = {crc_of(plain), crc_of(with_column),
                                             crc_of(other_values), crc_of(in_pairs)};
  EXPECT_EQ(checksums.size(), 4U);
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

TEST(LmWindowsTest, AnExampleThatIsEmptyOrLongerThanAWindowIsRefused) {
  EXPECT_THROW(LmWindows(of_lengths({3, 0, 2}), 8, 0), ShapeError);
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
