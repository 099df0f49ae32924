// Tests the check of list offsets, which are read in several pieces when a table has many rows.
#include "store/results/list_offsets.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

namespace mgpu::store {
namespace {

using Pieces = std::vector<std::vector<std::int64_t>>;

const ColumnSpec kOffsets{"row_offsets", ColumnType::i64, 1, "", ""};

void check(const Pieces& pieces, std::int64_t items) {
  OffsetsCheck check(kOffsets, 4);
  for (const auto& piece : pieces)
    check.add(piece);
  check.finish(items);
}

TEST(OffsetsCheckTest, PiecesThatFollowEachOtherAreTaken) {
  EXPECT_NO_THROW(check({{0, 2}, {2, 5}}, 5));
  EXPECT_NO_THROW(check({{0}}, 0));
}

TEST(OffsetsCheckTest, PiecesThatDoNotFitAreRefused) {
  EXPECT_THROW(check({{0, 3}, {2, 5}}, 5), Failure);
  EXPECT_THROW(check({{0, 3}, {3, 2}, {4, 5}}, 5), Failure);
  EXPECT_THROW(check({{1, 3}, {3, 5}}, 5), Failure);
  EXPECT_THROW(check({{0, 3}, {3, 5}}, 6), Failure);
  EXPECT_THROW(OffsetsCheck(kOffsets, 0), Failure);
}

}  // namespace
}  // namespace mgpu::store
