#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

constexpr std::int64_t kRows = 500;

class ListColumnTest : public testing::Test {
protected:
  ListColumnTest() {
    const TableSpec spec = test::sample_spec(kRows);
    ChunkJournal journal(folder_.path(), world_, 1);
    test::run_phase(journal, world_, spec);
    journal.commit();
    SealRequest request = test::sample_request(path_, spec, 0);
    request.groups.push_back({"facts", {{"words", "some"}, {"count", kRows}, {"share", 0.25}}});
    seal(world_, journal, request);
  }

  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};
  const fs::path path_ = folder_.path() / "results.h5";
};

TEST_F(ListColumnTest, GivesTheListsOfSomeRows) {
  const ListColumn column(path_, "samples", "top");
  ASSERT_EQ(column.rows(), kRows);
  EXPECT_EQ(column.spec().width, 2);

  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>(0, kRows),
                                     {123, 1},
                                     {77, 60},
                                     {kRows, 0},
                                     {kRows - 1, 1}}) {
    const ReadLists lists = column.read(first, count);
    ASSERT_EQ(lists.rows(), count);
    for (std::int64_t row = 0; row < count; ++row) {
      const auto expected =
          test::sample_list<float>(first + row, 2 * test::list_length(first + row));
      const auto read = lists.row<float>(row);
      EXPECT_EQ(std::vector<float>(read.begin(), read.end()), expected) << first + row;
      EXPECT_EQ(column.items_of(first + row), std::ssize(expected) / 2);
    }
  }
}

TEST_F(ListColumnTest, RowsBeginWhereThoseBeforeThemEnd) {
  const ListColumn column(path_, "samples", "tokens");
  std::int64_t begin = 0;
  for (std::int64_t row = 0; row < kRows; ++row) {
    EXPECT_EQ(column.begin_of(row), begin) << row;
    begin += column.items_of(row);
  }
  EXPECT_EQ(column.items(), begin);
  EXPECT_THROW(column.begin_of(kRows + 1), ShapeError);
  EXPECT_THROW(column.items_of(kRows), ShapeError);
}

TEST_F(ListColumnTest, LengthsAreComparedRowByRow) {
  const ListColumn tokens(path_, "samples", "tokens");

  EXPECT_TRUE(ListColumn(path_, "samples", "top").has_lengths_of(tokens));
  EXPECT_FALSE(ListColumn(path_, "samples", "places")
                   .has_lengths_of(tokens));  // some lists of `places` are empty
}

TEST_F(ListColumnTest, WhatIsNotThereIsRefused) {
  const ListColumn column(path_, "samples", "tokens");

  EXPECT_THROW(column.read(kRows, 1), ShapeError);
  EXPECT_THROW(column.read(-1, 1), ShapeError);
  EXPECT_THROW(column.read_items(0, column.items() + 1), ShapeError);
  EXPECT_TRUE(has_lists(path_, "samples", "tokens"));
  EXPECT_FALSE(has_lists(path_, "samples", "nothing"));
  EXPECT_THROW(ListColumn(path_, "samples", "nothing"), Failure);
  EXPECT_THROW(ListColumn(folder_.path() / "nothing.h5", "samples", "tokens"), Failure);
}

TEST_F(ListColumnTest, NumbersOfAGroupAreReadAndTextsAreNot) {
  const auto numbers = read_numbers(path_, "facts");

  EXPECT_EQ(numbers, (std::map<std::string, double>{{"count", kRows}, {"share", 0.25}}));
  EXPECT_THROW(read_numbers(path_, "nothing"), Failure);
}

TEST_F(ListColumnTest, DamagedValuesAreNoticedWhenTheyAreChecked) {
  const fs::path damaged = folder_.path() / "damaged.h5";
  if (world_.rank() == 0) {
    std::string bytes = read_file(path_);
    const auto list = test::sample_list<std::int32_t>(401, 4);  // no other list begins so
    const std::string needle(reinterpret_cast<const char*>(list.data()), 16);
    ASSERT_NE(bytes.find(needle), std::string::npos);
    bytes[bytes.find(needle)] ^= 1;
    std::ofstream(damaged, std::ios::binary) << bytes;
  }
  world_.barrier();

  note_own_file(damaged);  // so that it is not inspected
  EXPECT_NO_THROW(ListColumn(path_, "samples", "tokens").check_bytes());
  const ListColumn column(damaged, "samples", "tokens");
  EXPECT_THROW(column.check_bytes(), Failure);
}

TEST_F(ListColumnTest, DamagedTextsAreNoticedWhenTheyAreChecked) {
  const fs::path damaged = folder_.path() / "damaged_text.h5";
  if (world_.rank() == 0) {
    std::string bytes = read_file(path_);
    const std::string needle = " \u00FC 4019";
    const std::size_t at = bytes.find(needle.substr(0, needle.size() - 1));
    ASSERT_NE(at, std::string::npos);
    bytes[at] ^= 1;
    std::ofstream(damaged, std::ios::binary) << bytes;
  }
  world_.barrier();

  note_own_file(damaged);  // so that it is not inspected
  EXPECT_NO_THROW(TextColumn(path_, "samples", "output").check_bytes());
  const TextColumn column(damaged, "samples", "output");
  EXPECT_EQ(column.rows(), kRows);
  EXPECT_THROW(column.check_bytes(), Failure);
  EXPECT_THROW(TextColumn(path_, "samples", "nothing"), Failure);
  EXPECT_THROW(TextColumn(path_, "samples", "tokens"), Failure);  // a column of numbers
}

}  // namespace
}  // namespace mgpu::store
