#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

constexpr std::uint64_t kChunks = 24;
constexpr std::size_t kPayloadBytes = 100;
constexpr std::size_t kFrameBytes = 40 + kPayloadBytes;
constexpr std::size_t kFileHeadBytes = 16;

class ChunkJournalTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};

  static std::vector<std::byte> payload(std::uint64_t chunk) {
    return std::vector<std::byte>(kPayloadBytes, static_cast<std::byte>(chunk + 1));
  }

  /// Writes all chunks as attempt 1. They are in rank 0's ledger, in order. Ranks: collective.
  void write_all() {
    ChunkJournal journal(folder_.path(), world_, 1);
    for (std::uint64_t chunk = 0; chunk < kChunks && world_.rank() == 0; ++chunk)
      journal.append(1, chunk, payload(chunk));
    journal.commit();
    EXPECT_EQ(journal.done(1).size(), kChunks);
  }

  fs::path first_ledger() const {
    return folder_.path() / "parts" / "attempt_0001.rank_0000.ledger";
  }

  void overwrite(std::size_t offset, const std::string& bytes) const {
    if (world_.rank() == 0) {
      std::fstream file(first_ledger(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(offset));
      file << bytes;
    }
    world_.barrier();
  }
};

TEST_F(ChunkJournalTest, TheNextAttemptFindsWhatWasWrittenByAnyRank) {
  {
    ChunkJournal journal(folder_.path(), world_, 1);
    for (std::uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      if (chunk % static_cast<std::uint64_t>(world_.size()) ==
          static_cast<std::uint64_t>(world_.rank())) {
        journal.append(2, chunk, payload(chunk));
      }
    }
    journal.commit();
    EXPECT_EQ(journal.done(2).size(), kChunks);
    EXPECT_TRUE(journal.done(1).empty());
  }

  const ChunkJournal next(folder_.path(), world_, 2);

  std::vector<std::uint64_t> all(kChunks);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(next.done(2), all);
  EXPECT_TRUE(next.damage().empty());
}

TEST_F(ChunkJournalTest, WhatWasAppendedAfterTheLastCommitIsFoundToo) {
  {
    ChunkJournal journal(folder_.path(), world_, 1);
    journal.append(1, static_cast<std::uint64_t>(world_.rank()), payload(0));
    EXPECT_TRUE(journal.done(1).empty());  // no rank knows new records before commit()
    world_.barrier();
  }

  const ChunkJournal next(folder_.path(), world_, 2);

  EXPECT_EQ(next.done(1).size(), static_cast<std::size_t>(world_.size()));
}

TEST_F(ChunkJournalTest, OfTwoRecordsTheEarlierAttemptWins) {
  write_all();
  ChunkJournal second(folder_.path(), world_, 2);
  second.append(1, 5, payload(77));
  second.commit();

  const std::vector<ChunkEntry> entries = second.entries(1);

  ASSERT_EQ(entries.size(), kChunks);
  EXPECT_EQ(second.files()[entries[5].file], first_ledger());
}

TEST_F(ChunkJournalTest, ATornTailIsIgnored) {
  write_all();
  if (world_.rank() == 0) fs::resize_file(first_ledger(), fs::file_size(first_ledger()) - 1);
  world_.barrier();

  const ChunkJournal next(folder_.path(), world_, 2);

  EXPECT_EQ(next.done(1).size(), kChunks - 1);
  EXPECT_TRUE(next.damage().empty());
}

TEST_F(ChunkJournalTest, ADamagedFrameIsReportedAndOnlyItsChunkIsLost) {
  write_all();
  overwrite(kFileHeadBytes + 3 * kFrameBytes + 60, "X");   // a payload
  overwrite(kFileHeadBytes + 7 * kFrameBytes + 20, "XX");  // a head

  const ChunkJournal next(folder_.path(), world_, 2);

  std::vector<std::uint64_t> rest(kChunks);
  std::iota(rest.begin(), rest.end(), 0U);
  rest.erase(rest.begin() + 7);
  rest.erase(rest.begin() + 3);
  EXPECT_EQ(next.done(1), rest);
  ASSERT_EQ(next.damage().size(), 2U);
  EXPECT_EQ(next.damage()[0].offset, kFileHeadBytes + 3 * kFrameBytes);
  EXPECT_EQ(next.damage()[1].bytes, kFrameBytes);
}

TEST_F(ChunkJournalTest, EmptyAndForeignFilesHarmNobody) {
  write_all();
  if (world_.rank() == 0) {
    std::ofstream(folder_.path() / "parts" / "attempt_0001.rank_0099.ledger");
    std::ofstream(folder_.path() / "parts" / "notes.txt") << "hello";
    std::ofstream(folder_.path() / "parts" / "attempt_0001.rank_0098.ledger")
        << std::string(5000, 'M');
  }
  world_.barrier();

  const ChunkJournal next(folder_.path(), world_, 2);

  EXPECT_EQ(next.done(1).size(), kChunks);
}

TEST_F(ChunkJournalTest, AnotherVersionIsRefusedOnAllRanks) {
  write_all();
  // The head of a ledger of version 2 is "mgpuledg", the version, and the CRC-32C of both.
  std::string head = "mgpuledg" + std::string("\x02\0\0\0", 4);
  const std::uint32_t crc = crc32c(head);
  head.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  overwrite(0, head);

  try {
    const ChunkJournal next(folder_.path(), world_, 2);
    ADD_FAILURE() << "taken";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E605");
    EXPECT_EQ(failure.exit_code(), ExitCode::data);
  }
}

TEST_F(ChunkJournalTest, AnAttemptIsUsedOnce) {
  write_all();
  EXPECT_THROW(ChunkJournal(folder_.path(), world_, 1), Failure);
}

}  // namespace
}  // namespace mgpu::store
