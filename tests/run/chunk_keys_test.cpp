// Tests the keys of chunks and of parts of a run, and the texts about them.
#include <string>
#include <tuple>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/phases.hpp>

#include "support/made_config.hpp"

namespace mgpu::run {
namespace {

using testing::HasSubstr;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

Config part_of(const char* part, const char* parts) {
  return config_of({{"job", "teacher"}, {"run.worker_id", part}, {"run.total_workers", parts}});
}

TEST(ChunkKeysTest, PartsCountFromZero) {
  EXPECT_NO_THROW(check_chunk_keys(part_of("0", "1")));
  EXPECT_NO_THROW(check_chunk_keys(part_of("3", "4")));
  const ErrorReport report = report_of_failure([] { check_chunk_keys(part_of("4", "4")); });
  EXPECT_EQ(report.code, "E124");
  EXPECT_EQ(report.exit, ExitCode::config);
  EXPECT_THAT(report.sentence, HasSubstr("there is no part 4 of 4"));
  EXPECT_THAT(report.help, HasSubstr("--only 3/4"));
}

TEST(ChunkKeysTest, APartIsNamedWhereThereAreSeveral) {
  EXPECT_FALSE(read_job_keys(part_of("0", "1")).is_part_of_run());
  EXPECT_EQ(part_note(read_job_keys(part_of("0", "1"))), "");
  EXPECT_TRUE(read_job_keys(part_of("1", "3")).is_part_of_run());
  EXPECT_EQ(part_note(read_job_keys(part_of("1", "3"))), "; part 1 of 3");
  EXPECT_EQ(part_text({2, 5}), "part 2 of 5");
  EXPECT_EQ(read_job_keys(part_of("1", "3")).part.index, 1);
  EXPECT_EQ(read_job_keys(part_of("1", "3")).part.count, 3);
}

TEST(ChunkKeysTest, AnAutomaticChunkIsSmallForFewRowsAndForManyResultsOfEach) {
  EXPECT_EQ(auto_chunk_size(17, 200), 1);
  EXPECT_EQ(auto_chunk_size(17, 1), 1);
  EXPECT_EQ(auto_chunk_size(164, 1), 3);  // 55 chunks
  EXPECT_EQ(auto_chunk_size(1984, 1), 31);
  EXPECT_EQ(auto_chunk_size(1985, 1), 32);
  EXPECT_EQ(auto_chunk_size(1'000'000, 1), 32);
  EXPECT_EQ(auto_chunk_size(1'000'000, 5), 7);
  EXPECT_EQ(auto_chunk_size(0, 1), 1);
}

TEST(ChunkKeysTest, TheAdviceForIdleRanksGivesWorkToAll) {
  for (const auto& [rows, size, groups, parts] :
       {std::tuple<std::int64_t, std::int64_t, int, int>{17, 32, 2, 1},
        {64, 32, 4, 1},
        {100, 32, 7, 1},
        {64, 32, 2, 4},
        {5, 2, 4, 1}}) {
    ChunkPhase phase{"rows", 1, rows, size, {0, parts}};
    const auto chunks = std::ssize(pending_chunks(phase, {}));
    const std::optional<report::Note> note = idle_note(phase, chunks, groups, groups, "prompts");
    ASSERT_TRUE(note) << rows;
    EXPECT_EQ(note->key, "run.chunk_size");
    const std::size_t at = note->effect.find("run.chunk_size=");
    ASSERT_NE(at, std::string::npos) << note->effect;
    phase.chunk_rows = std::stoll(note->effect.substr(at + std::string("run.chunk_size=").size()));
    for (phase.part.index = 0; phase.part.index < parts; ++phase.part.index)
      EXPECT_GE(std::ssize(pending_chunks(phase, {})), groups) << note->effect;
  }
}

TEST(ChunkKeysTest, WithFewerRowsThanRanksTheAdviceIsFewerRanks) {
  const ChunkPhase phase{"rows", 1, 3, 1};
  const std::optional<report::Note> note = idle_note(phase, 3, 4, 8, "texts");
  ASSERT_TRUE(note);
  EXPECT_EQ(note->sentence(),
            "1 of 4 groups of ranks have nothing to do: there are 3 chunks of up to 1 texts. "
            "-np 6 takes as long.");
  EXPECT_FALSE(idle_note(phase, 3, 3, 3, "texts"));
}

TEST(ChunkKeysTest, AJobWithoutPartsRefusesThem) {
  const auto refused = [](const Keys& keys) {
    const Config config = config_of(keys);
    return report_of_failure([&] { refuse_chunk_keys(config); });
  };
  EXPECT_EQ(refused({{"job", "train"}, {"run.schedule", "static"}}).code, "");
  const ErrorReport dynamic = refused({{"job", "train"}, {"run.schedule", "dynamic"}});
  EXPECT_EQ(dynamic.code, "E124");
  EXPECT_THAT(dynamic.sentence, HasSubstr("job train shares its chunks out beforehand"));
  const ErrorReport part = refused({{"job", "train"}, {"run.total_workers", "2"}});
  EXPECT_EQ(part.code, "E124");
  EXPECT_THAT(part.sentence, HasSubstr("job train has no parts"));
}

TEST(PhasesTest, AnInputHasAPhaseThatNoNamedOneHas) {
  EXPECT_EQ(phase_of(5), 0x80000005U);
  EXPECT_EQ(phase_of(0xFFFFFFFFU), 0xFFFFFFFFU);
  EXPECT_EQ(phase_of(0), 0x80000000U);
}

TEST(ChunkPartTest, TheSamplesOfAllPartsAreAllSamples) {
  for (const std::int64_t samples : {1, 7, 8, 9, 64}) {
    std::int64_t next = 0;
    for (int part = 0; part < 3; ++part) {
      const ChunkPhase phase{"", 0, samples, 4, {part, 3}};
      EXPECT_EQ(first_of_part(phase), next);
      next += samples_of_part(phase);
      for (const Chunk& chunk : pending_chunks(phase, {}))
        EXPECT_LE(samples_up_to(phase, chunk), samples_of_part(phase));
    }
    EXPECT_EQ(next, samples);
  }
}

TEST(ChunkPartTest, APartWithoutChunksHasNoSamples) {
  EXPECT_EQ(samples_of_part({"", 0, 1, 32, {0, 2}}), 1);
  EXPECT_EQ(samples_of_part({"", 0, 1, 32, {1, 2}}), 0);
  EXPECT_TRUE(pending_chunks({"", 0, 1, 32, {1, 2}}, {}).empty());
}

TEST(ChunkPartTest, TheLastChunkOfAPartIsAllOfIt) {
  const ChunkPhase phase{"", 0, 21, 2, {1, 3}};  // 11 chunks: 4, 4 and 3
  const std::vector<Chunk> chunks = pending_chunks(phase, {});
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks.front().first, 8);
  EXPECT_EQ(samples_up_to(phase, chunks.front()), 2);
  EXPECT_EQ(samples_up_to(phase, chunks.back()), 8);
}

}  // namespace
}  // namespace mgpu::run
