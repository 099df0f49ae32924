#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/run/chunk_phase.hpp>

#include "run/chunk_blocks.hpp"

namespace mgpu::run {
namespace {

/// An empty directory that all ranks see; rank 0 makes and removes it.
class ChunkPhaseTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "mgpu_chunks_XXXXXX").string();
    if (world_.rank() == 0) {
      ASSERT_NE(mkdtemp(name.data()), nullptr);
      std::filesystem::create_directory(name + "/parts");
    }
    folder_ = world_.broadcast(name, 0);
  }
  void TearDown() override {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove_all(folder_);
  }

  cluster::Group world_ = cluster::Group::world();
  std::filesystem::path folder_;
  ChunkPhase phase_{"count", 7, 21, 2};  // 11 chunks, the last one of one sample
};

std::vector<std::byte> payload_of(const Chunk& chunk) {
  return std::vector<std::byte>(static_cast<std::size_t>(chunk.count),
                                static_cast<std::byte>(chunk.index));
}

TEST_F(ChunkPhaseTest, EachChunkIsWorkedOnOnceOverAllRanks) {
  store::ChunkJournal journal(folder_, world_, 0);
  std::int64_t samples = 0;

  const bool complete =
      run_chunks(phase_, world_, journal,
                 {payload_of, [] { return false; }, [&](std::int64_t count) { samples += count; }});

  EXPECT_TRUE(complete);
  EXPECT_EQ(world_.all_reduce(samples), 21);
  EXPECT_EQ(journal.entries(7).size(), 11U);
}

TEST_F(ChunkPhaseTest, AStopLeavesTheRestForTheNextAttempt) {
  int mine = 0;
  {
    store::ChunkJournal journal(folder_, world_, 0);
    EXPECT_FALSE(
        run_chunks(phase_, world_, journal,
                   {payload_of, [&] { return mine == 1; }, [&](std::int64_t) { ++mine; }}));
  }
  store::ChunkJournal journal(folder_, world_, 1);
  std::int64_t again = 0;
  EXPECT_TRUE(run_chunks(phase_, world_, journal,
                         {payload_of, [] { return false; }, [&](std::int64_t) { ++again; }}));
  EXPECT_EQ(world_.all_reduce(again), 11 - world_.all_reduce(std::int64_t{mine}));
}

TEST_F(ChunkPhaseTest, OneRanksFailureReachesAllAndKeepsItsExitCode) {
  store::ChunkJournal journal(folder_, world_, 0);
  const int guilty = world_.size() - 1;
  const auto work = [&](const Chunk& chunk) {
    if (world_.rank() == guilty) {
      throw Failure({"E602", ExitCode::io, "the disk is full", {}, ""});
    }
    return payload_of(chunk);
  };
  try {
    run_chunks(phase_, world_, journal, {work, [] { return false; }, [](std::int64_t) {}});
    ADD_FAILURE() << "the failure was swallowed";
  } catch (const cluster::CollectiveFailure& error) {
    EXPECT_EQ(error.first_rank(), guilty);
    EXPECT_EQ(error.exit_code(), ExitCode::io);
  }
}

constexpr std::chrono::milliseconds kLongEnoughForAllToClaim{20};

/// Tests groups of ranks whose chunks are assigned in advance, and groups that claim chunks.
class ChunkGroupTest : public ChunkPhaseTest, public testing::WithParamInterface<bool> {
protected:
  ChunkSharing sharing() const { return {.is_dynamic = GetParam(), .timeout_s = 60.0}; }
};

INSTANTIATE_TEST_SUITE_P(StaticAndDynamic, ChunkGroupTest, testing::Bool());

TEST_P(ChunkGroupTest, GroupsWorkOnAChunkTogether) {
  if (world_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks has no groups of 2";
  const cluster::Topology topology(world_, 2);
  store::ChunkJournal journal(folder_, world_, 0);
  std::int64_t samples = 0;
  const auto work = [&](const Chunk& chunk) {
    EXPECT_EQ(topology.model_group().all_reduce(chunk.first, cluster::ReduceOp::max), chunk.first);
    return payload_of(chunk);
  };

  const bool complete = run_chunks(
      phase_, topology, journal,
      {work, [] { return false; }, [&](std::int64_t count) { samples += count; }}, sharing());

  EXPECT_TRUE(complete);
  EXPECT_TRUE(topology.is_leader() || samples == 0);
  EXPECT_EQ(world_.all_reduce(samples), 21);
  EXPECT_EQ(journal.entries(7).size(), 11U);
}

TEST_P(ChunkGroupTest, OneRankOfAGroupStopsOrFailsForAll) {
  if (world_.size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks has no groups of 2";
  const cluster::Topology topology(world_, 2);
  const bool is_last = world_.rank() + 1 == world_.size();
  int begun = 0;
  const auto count = [&](const Chunk& chunk) {
    ++begun;
    std::this_thread::sleep_for(kLongEnoughForAllToClaim);
    return payload_of(chunk);
  };
  const auto fail = [&](const Chunk& chunk) {
    std::this_thread::sleep_for(kLongEnoughForAllToClaim);
    if (is_last) throw Failure({"E602", ExitCode::io, "the disk is full", {}, ""});
    return payload_of(chunk);
  };
  store::ChunkJournal journal(folder_, world_, 0);

  EXPECT_FALSE(run_chunks(phase_, topology, journal,
                          {count, [&] { return is_last && begun > 0; }, [](std::int64_t) {}},
                          sharing()));
  EXPECT_THROW(run_chunks(phase_, topology, journal,
                          {fail, [] { return false; }, [](std::int64_t) {}}, sharing()),
               cluster::CollectiveFailure);

  EXPECT_EQ(topology.model_group().all_reduce(begun, cluster::ReduceOp::max), begun);
}

TEST_P(ChunkGroupTest, PartsOfThePhaseAreItsChunksOnceEach) {
  const cluster::Topology topology(world_, 1);
  store::ChunkJournal journal(folder_, world_, 0);
  std::size_t chunks = 0;
  for (int part = 0; part < 3; ++part) {
    phase_.part = {part, 3};
    std::int64_t samples = 0;
    EXPECT_TRUE(run_chunks(
        phase_, topology, journal,
        {payload_of, [] { return false; }, [&](std::int64_t count) { samples += count; }},
        sharing()));
    EXPECT_EQ(world_.all_reduce(samples), samples_of_part(phase_));
    chunks += part < 2 ? 4 : 3;
    EXPECT_EQ(journal.entries(7).size(), chunks);
  }
}

TEST_P(ChunkGroupTest, AGroupBeginsABlockOfChunksAtOnce) {
  const cluster::Topology topology(world_, 1);
  store::ChunkJournal journal(folder_, world_, 0);
  std::vector<std::uint64_t> begun;
  std::vector<std::uint64_t> worked;
  ChunkHooks hooks{[&](const Chunk& chunk) {
                     worked.push_back(chunk.index);
                     return payload_of(chunk);
                   },
                   [] { return false; }, [](std::int64_t) {}};
  hooks.begin_block = [&](std::span<const Chunk> block) {
    EXPECT_LE(block.size(), 4U);
    EXPECT_EQ(begun, worked);  // the previous block is finished
    for (const Chunk& chunk : block)
      begun.push_back(chunk.index);
  };
  ChunkSharing sharing = this->sharing();
  sharing.at_once = 4;

  EXPECT_TRUE(run_chunks(phase_, topology, journal, hooks, sharing));
  EXPECT_EQ(begun, worked);
  EXPECT_EQ(journal.entries(7).size(), 11U);
}

TEST_P(ChunkGroupTest, ARepeatedBlockHasItsFinishedChunks) {
  const cluster::Topology topology(world_, 1);
  {
    store::ChunkJournal journal(folder_, world_, 0);
    if (world_.rank() == 0)
      for (const Chunk& chunk : {Chunk{1, 2, 2}, Chunk{10, 20, 1}})
        journal.append(phase_.id, chunk.index, payload_of(chunk));
    journal.commit();
  }
  store::ChunkJournal journal(folder_, world_, 1);
  std::int64_t begun = 0;
  std::int64_t samples = 0;
  ChunkHooks hooks{payload_of, [] { return false; }, [&](std::int64_t count) { samples += count; }};
  hooks.begin_block = [&](std::span<const Chunk> block) { begun += std::ssize(block); };
  ChunkSharing sharing = this->sharing();
  sharing.at_once = 11;
  sharing.repeats_blocks = true;

  EXPECT_TRUE(run_chunks(phase_, topology, journal, hooks, sharing));
  EXPECT_EQ(world_.all_reduce(begun), 11);
  EXPECT_EQ(world_.all_reduce(samples), 18);
  EXPECT_EQ(journal.entries(7).size(), 11U);
}

TEST_F(ChunkPhaseTest, ASlowRankCostsLessThanOneOfItsChunks) {
  if (world_.size() != 2) GTEST_SKIP() << "measured with one slow rank of 2";
  using Seconds = std::chrono::duration<double>;
  constexpr Seconds kChunk{0.05};
  constexpr int kChunks = 45;
  const bool is_slow = world_.rank() == 1;
  const Seconds mine = is_slow ? 2 * kChunk : kChunk;
  const cluster::Topology topology(world_, 1);
  phase_ = {"count", 7, kChunks, 1};
  int done = 0;
  Seconds end{0.0};  // according to the clock of this machine
  const ChunkHooks hooks{[&](const Chunk& chunk) {
                           std::this_thread::sleep_for(mine);
                           return payload_of(chunk);
                         },
                         [] { return false; },
                         [&](std::int64_t) {
                           ++done;
                           end = std::chrono::steady_clock::now().time_since_epoch();
                         }};
  store::ChunkJournal journal(folder_, world_, 0);

  run_chunks(phase_, topology, journal, hooks, {.is_dynamic = true, .timeout_s = 60.0});

  const std::vector<double> ends = world_.all_gather(end.count());
  const double idle_chunks = std::abs(ends[0] - ends[1]) / (2 * kChunk).count();
  EXPECT_LT(idle_chunks, 1.5);  // the length of a chunk, and the delay of a busy machine
  const std::vector<std::int32_t> shares = world_.all_gather(std::int32_t{done});
  EXPECT_EQ(shares[0] + shares[1], kChunks);
  EXPECT_NEAR(static_cast<double>(shares[0]) / shares[1], 2.0, 0.6);
  if (!is_slow)
    std::cout << shares[0] << " and " << shares[1] << " chunks, " << idle_chunks
              << " slow chunks of idle time at the end\n";
}

TEST(StaticShareTest, TheRemainderGoesToTheFirst) {
  const std::vector<Chunk> chunks(11);
  EXPECT_EQ(static_share(chunks, 0, 4).size(), 3U);
  EXPECT_EQ(static_share(chunks, 2, 4).size(), 3U);
  EXPECT_EQ(static_share(chunks, 3, 4).size(), 2U);
  EXPECT_EQ(static_share(chunks, 3, 4).data(), chunks.data() + 9);
}

std::vector<std::size_t> sizes_of(const std::vector<ChunkBlock>& blocks) {
  std::vector<std::size_t> sizes;
  for (const ChunkBlock block : blocks)
    sizes.push_back(block.size());
  return sizes;
}

TEST(BlocksOfTest, EachGroupHasEquallyManyBlocks) {
  const std::vector<Chunk> chunks(9);
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes_of(blocks_of(chunks, 2, 2)), (Sizes{2, 2, 1, 2, 1, 1}));
  EXPECT_EQ(sizes_of(blocks_of(chunks, 4, 8)), (Sizes{3, 2, 2, 2}));
  EXPECT_EQ(sizes_of(blocks_of(chunks, 1, 1)), Sizes(9, 1));
  EXPECT_EQ(sizes_of(blocks_of(std::span(chunks).first(1), 2, 4)), (Sizes{1, 0}));
  EXPECT_TRUE(blocks_of({}, 2, 4).empty());
}

TEST(PendingChunksTest, LeavesOutWhatIsDoneAndCutsTheLast) {
  const std::vector<std::uint64_t> done{0, 2};
  const auto pending = pending_chunks({"x", 0, 7, 2}, done);
  ASSERT_EQ(pending.size(), 2U);
  EXPECT_EQ(pending[0].first, 2);
  EXPECT_EQ(pending[1].first, 6);
  EXPECT_EQ(pending[1].count, 1);
}

}  // namespace
}  // namespace mgpu::run
