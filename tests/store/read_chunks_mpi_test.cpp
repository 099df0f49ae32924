// Tests that number columns of a journal are read as the sealed file has them.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/columns.hpp>
#include <mgpu/store/results/read_chunks.hpp>

#include "support/shared_folder.hpp"

namespace mgpu::store {
namespace {

constexpr std::uint32_t kPhaseHere = 9;
constexpr std::int64_t kChunkRows = 4;
constexpr std::int64_t kAllRows = 30;  // the last chunk has 2 rows

class ReadChunksTest : public testing::Test {
protected:
  ReadChunksTest() {
    if (world_.rank() == 0) std::filesystem::create_directories(folder_.path() / "parts");
    world_.barrier();
    columns_.add({"square", ""}, [](const std::int64_t& row) { return row * row; });
    columns_.add({"half", ""},
                 [](const std::int64_t& row) { return 0.5 * static_cast<double>(row); });
    columns_.add({"name", ""}, [](const std::int64_t& row) { return std::to_string(row); });
    columns_.add({"list", ""}, [](const std::int64_t& row) {
      return std::vector<float>(static_cast<std::size_t>(row % 3), 1.0F);
    });
    table_ = {columns_.table("samples", kAllRows), kPhaseHere, kChunkRows};
  }

  /// Journals all chunks but those in `missing`. Chunk c is the work of rank c % ranks.
  void journal(const std::vector<std::int64_t>& missing = {}) {
    journal_.emplace(folder_.path(), world_, 1);
    for (std::int64_t chunk = 0; chunk * kChunkRows < kAllRows; ++chunk) {
      if (chunk % world_.size() != world_.rank()) continue;
      if (std::ranges::find(missing, chunk) != missing.end()) continue;
      std::vector<std::int64_t> rows;
      for (std::int64_t row = chunk * kChunkRows;
           row < std::min(kAllRows, (chunk + 1) * kChunkRows); ++row)
        rows.push_back(row);
      journal_->append(kPhaseHere, static_cast<std::uint64_t>(chunk),
                       columns_.encode(table_.spec, rows.front(), rows));
    }
    journal_->commit();
  }

  ReadTable read(const std::vector<std::string>& names) const {
    return read_chunks(world_, *journal_, table_, names);
  }

  const cluster::Group world_ = cluster::Group::world();
  const testing_support::SharedFolder folder_{world_};
  Columns<std::int64_t> columns_;
  ChunkedTable table_;
  std::optional<ChunkJournal> journal_;
};

TEST_F(ReadChunksTest, EveryRankGetsTheRowsInOrder) {
  journal();
  const ReadTable rows = read({"half", "square"});
  EXPECT_EQ(rows.rows, kAllRows);
  EXPECT_EQ(rows.missing_rows, 0);
  ASSERT_EQ(rows.columns.size(), 3U);
  const auto ids = rows.column("id").values<std::int64_t>();
  const auto squares = rows.column("square").values<std::int64_t>();
  const auto halves = rows.column("half").values<double>();
  ASSERT_EQ(ids.size(), static_cast<std::size_t>(kAllRows));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], static_cast<std::int64_t>(i));
    EXPECT_EQ(squares[i], ids[i] * ids[i]);
    EXPECT_EQ(halves[i], 0.5 * static_cast<double>(i));
  }
}

TEST_F(ReadChunksTest, MissingChunksAreLeftOut) {
  journal({1, 5});
  const ReadTable rows = read({"square"});
  EXPECT_EQ(rows.rows, kAllRows - 2 * kChunkRows);
  EXPECT_EQ(rows.missing_rows, 2 * kChunkRows);
  const auto ids = rows.column("id").values<std::int64_t>();
  EXPECT_EQ(ids[3], 3);
  EXPECT_EQ(ids[4], 8);
  EXPECT_EQ(ids.back(), kAllRows - 1);
}

TEST_F(ReadChunksTest, AnEmptyJournalHasNoRows) {
  journal({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(read({"square"}).rows, 0);
}

TEST_F(ReadChunksTest, TextsListsAndUnknownColumnsAreErrors) {
  journal();
  EXPECT_THROW(read({"name"}), Error);
  EXPECT_THROW(read({"list"}), Error);
  EXPECT_THROW(read({"cube"}), Error);
}

}  // namespace
}  // namespace mgpu::store
