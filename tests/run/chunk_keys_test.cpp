// Tests parts of a run, and the texts that name them.
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
