// Tests the messages about ranks and parts, and the attributes of a result file.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/rank_memory.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/run/worker_table.hpp>

#include "fake_run.hpp"

namespace mgpu::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::Keys;

store::SealRequest request_of(const RunContext& run) {
  return seal_request({run.config, run.store, run.directory}, "generate",
                      read_job_keys(run.config).part);
}

TEST(SealPlaceTest, AFileSaysWhichRunItIsOf) {
  test::FakeRun fake(Keys{{"output.file", "mine.h5"}, {"output.compression", "gzip:7"}});
  const RunContext& run = fake.context();
  const store::SealRequest request = request_of(run);

  EXPECT_EQ(request.path, run.directory.path() / "mine.h5");
  EXPECT_EQ(request.attempt, run.directory.attempt());
  EXPECT_EQ(request.gzip, 7);
  EXPECT_TRUE(request.text);
  EXPECT_FALSE(request.partial);
  ASSERT_THAT(request.attributes, SizeIs(1));
  EXPECT_EQ(request.attributes[0].name, "job");
  EXPECT_EQ(std::get<std::string>(request.attributes[0].value), "generate");
  EXPECT_THAT(request.tables, IsEmpty());
  if (fake.world().rank() == 0) {  // only rank 0 holds the lock
    EXPECT_NO_THROW(request.check_current());
  }
}

TEST(SealPlaceTest, GroupRunHasTheKeysThatDecideTheRows) {
  test::FakeRun fake(Keys{{"run.seed", "12"}, {"generate.batch_size", "3"}});
  const store::SealRequest request = request_of(fake.context());

  ASSERT_THAT(request.groups, SizeIs(1));
  EXPECT_EQ(request.groups[0].path, "run");
  const auto keys = std::get<std::string>(request.groups[0].attributes[0].value);
  EXPECT_THAT(keys, HasSubstr("run.seed: 12\n"));
  EXPECT_THAT(keys, testing::Not(HasSubstr("generate.batch_size")));
}

TEST(SealPlaceTest, APartSaysWhichOneItIs) {
  test::FakeRun fake(
      Keys{{"run.worker_id", "1"}, {"run.total_workers", "3"}, {"output.text", "false"}});
  const store::SealRequest request = request_of(fake.context());

  EXPECT_TRUE(request.partial);
  EXPECT_FALSE(request.text);
  ASSERT_THAT(request.attributes, SizeIs(2));
  EXPECT_EQ(request.attributes[1].name, "part");
  EXPECT_EQ(std::get<std::string>(request.attributes[1].value), "part 1 of 3");
}

TEST(TellPartTest, OnlyAPartIsTold) {
  test::FakeRun whole;
  log_part(whole.context(), JobKeys{});
  EXPECT_THAT(whole.heard.events, IsEmpty());
}

TEST(TellPartTest, APartIsJoinedByMerge) {
  test::FakeRun part;
  log_part(part.context(), JobKeys{.part = {0, 2}});
  EXPECT_THAT(part.heard.texts("note"),
              ElementsAre("results.h5 holds part 0 of 2; ./mgpu_spmd --merge with the folders of "
                          "all parts joins them"));
}

TEST(TellChunkTest, AChunkIsForThoseWhoLookClosely) {
  test::FakeRun fake;
  log_chunk(fake.context(), "labels", 4);
  EXPECT_THAT(fake.heard.texts("debug"), ElementsAre("labels: a chunk of 4 is done by rank " +
                                                     std::to_string(fake.world().rank())));
}

TEST(WorkerTableTest, EachRankIsACopyOfTheModel) {
  test::FakeRun fake;
  print_workers(fake.context(), "Classification");

  ASSERT_THAT(fake.said, SizeIs(1));
  EXPECT_THAT(fake.said.front(), HasSubstr("Multi-Rank Classification"));
  for (int rank = 0; rank < fake.world().size(); ++rank)
    EXPECT_THAT(fake.said.front(), HasSubstr(std::to_string(rank)));
}

TEST(ChunkProgressTest, WhereChunksAreClaimedProgressIsThatOfAll) {
  const ChunkProgress progress =
      progress_of({.is_dynamic = true}, {"", 0, 60, 4}, {7, 28, 4}, {8, 20});
  EXPECT_EQ(progress.done, 32);
  EXPECT_EQ(progress.total, 60);
}

TEST(ChunkProgressTest, WhereTheyAreSharedOutItIsThatOfAGroup) {
  const ChunkProgress progress =
      progress_of({.is_dynamic = false}, {"", 0, 60, 4}, {7, 28, 4}, {8, 20});
  EXPECT_EQ(progress.done, 8);
  EXPECT_EQ(progress.total, 20);
}

TEST(ChunkProgressTest, AGroupHasTheSamplesOfItsPendingChunks) {
  const ChunkPhase phase{"", 0, 30, 4};                     // 7 chunks of 4 samples, and one of 2
  const std::vector<std::uint64_t> done{0, 1, 3};           // 2, 4, 5, 6 and 7 are pending
  EXPECT_EQ(static_samples(phase, done, 0, 2, false), 12);  // 2, 4, 5
  EXPECT_EQ(static_samples(phase, done, 1, 2, false), 6);   // 6, 7
  EXPECT_EQ(static_samples(phase, done, 0, 2, true), 4);    // 2 of 0 .. 3
  EXPECT_EQ(static_samples(phase, done, 1, 2, true), 14);   // 4 .. 7
}

TEST(ChunkSharingTest, OnlyStaticIsNotDynamic) {
  for (const auto& [schedule, is_dynamic] :
       std::map<std::string, bool>{{"auto", true}, {"dynamic", true}, {"static", false}}) {
    test::FakeRun fake(Keys{{"run.schedule", schedule}});
    const JobKeys keys = read_job_keys(fake.context().config);
    EXPECT_EQ(chunk_sharing(fake.context(), keys).is_dynamic, is_dynamic);
    EXPECT_EQ(chunk_sharing(fake.context(), keys).timeout_s, fake.context().cluster.timeout_s);
  }
}

TEST(RankMemoryTest, EveryRankKnowsThatOfAll) {
  test::FakeRun fake;
  const std::vector<RankMemory> ranks = gather_memory(fake.world(), Device{});

  ASSERT_EQ(std::ssize(ranks), fake.world().size());
  for (const RankMemory& rank : ranks)
    EXPECT_GT(rank.host_bytes, 1U << 20);
  report::RunSummary summary;
  summary.gpus.resize(3);
  fill_memory(ranks, fake.context().topology, Device{}, summary);
  EXPECT_EQ(std::ssize(summary.host_peak_bytes), fake.world().size());
  EXPECT_THAT(summary.gpus, IsEmpty());
  EXPECT_EQ(summary.nodes, 1);
}

TEST(RankMemoryTest, GpusAreShownWithTheirHosts) {
  test::FakeRun fake;
  const auto size = static_cast<std::size_t>(fake.world().size());
  std::vector<RankMemory> ranks(size);
  ranks.back() = {.host_bytes = 5, .device = {.allocated = 1, .reserved = 2, .total = 3}};
  report::RunSummary summary;
  fill_memory(ranks, fake.context().topology, {DeviceKind::cuda, 0}, summary);

  ASSERT_THAT(summary.gpus, SizeIs(size));
  EXPECT_EQ(summary.gpus.back().rank, static_cast<int>(size) - 1);
  EXPECT_EQ(summary.gpus.back().reserved, 2U);
  EXPECT_EQ(summary.gpus.back().total, 3U);
}

}  // namespace
}  // namespace mgpu::run
