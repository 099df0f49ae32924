#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/death_note.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/quarantine.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

Death death(std::uint32_t attempt, std::int64_t first, std::int64_t count,
            const std::string& cause = "SIGKILL", std::uint32_t phase = 7) {
  return {attempt, 0, "here", {phase, first, count}, cause};
}

std::vector<std::int64_t> quarantined(const std::vector<Death>& deaths) {
  std::vector<std::int64_t> samples;
  for (const QuarantinedRow& row : rows_to_quarantine(deaths))
    samples.push_back(row.sample);
  return samples;
}

using Samples = std::vector<std::int64_t>;

TEST(JudgeDeathsTest, TwiceIsEnoughAndTheSecondTimeTheSampleWasAlone) {
  EXPECT_EQ(quarantined({}), Samples{});
  EXPECT_EQ(quarantined({death(1, 8, 4)}), Samples{});
  EXPECT_EQ(quarantined({death(1, 8, 4), death(2, 8, 4)}), Samples{});
  EXPECT_EQ(quarantined({death(1, 8, 4), death(2, 9, 1)}), Samples{9});
  EXPECT_EQ(quarantined({death(1, 9, 1), death(4, 9, 1)}), Samples{9});
  EXPECT_EQ(quarantined({death(1, 9, 1), death(2, 10, 1)}), Samples{});
}

TEST(JudgeDeathsTest, ADeathIsExplainedByOneSample) {
  // Sample 9 explains the death of the chunk, so sample 10 has to kill twice by itself.
  const std::vector<Death> one{death(1, 8, 4), death(2, 9, 1), death(3, 10, 1)};
  EXPECT_EQ(quarantined(one), Samples{9});
  std::vector<Death> both = one;
  both.push_back(death(4, 10, 1));
  EXPECT_EQ(quarantined(both), (Samples{9, 10}));
}

TEST(JudgeDeathsTest, OtherDataIsAnotherMatter) {
  EXPECT_EQ(quarantined({death(1, 8, 4, "SIGKILL", 5), death(2, 9, 1)}), Samples{});
}

TEST(JudgeDeathsTest, TheReasonNamesSignalsAndAttemptsAndNoRank) {
  const auto same = rows_to_quarantine(std::vector<Death>{death(1, 8, 4), death(2, 9, 1)});
  EXPECT_EQ(same.front().reason, "its rank was killed by SIGKILL in attempts 1 and 2");
  const auto mixed =
      rows_to_quarantine(std::vector<Death>{death(1, 8, 4, "hang"), death(3, 9, 1, "unknown")});
  EXPECT_EQ(mixed.front().reason,
            "its rank hung in attempt 1 and died without a word in attempt 3");
}

class QuarantineTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};

  void SetUp() override {
    if (world_.rank() == 0) fs::create_directories(folder_.path() / "attempts");
    world_.barrier();
  }

  /// Makes an attempt in which rank r works on `count` samples from number 4 r on. `note` is the
  /// death note of the attempt; "": no note.
  void attempt(std::uint32_t number, std::int64_t count, const std::string& note) {
    Quarantine quarantine(folder_.path(), world_, number);
    quarantine.begin({7, 4 * world_.rank(), count});
    world_.barrier();
    if (world_.rank() == 0 && !note.empty())
      std::ofstream(folder_.path() / "attempts" / ("000" + std::to_string(number) + ".died"))
          << note << "\n";
    world_.barrier();
  }
};

TEST_F(QuarantineTest, OnlyTheSamplesOfTheRankThatDiedFirstAreSuspect) {
  const int guilty = world_.size() - 1;
  const std::string who = std::to_string(guilty);
  attempt(1, 4, who + " watchdog SIGKILL");
  {
    const Quarantine quarantine(folder_.path(), world_, 2);
    EXPECT_TRUE(quarantine.is_suspect({7, 4 * guilty, 4}));
    EXPECT_FALSE(quarantine.is_suspect({7, 4 * guilty + 4, 4}));
    EXPECT_EQ(quarantine.is_suspect({7, 0, 4}), guilty == 0);
    EXPECT_FALSE(quarantine.is_suspect({8, 4 * guilty, 4}));
    EXPECT_TRUE(quarantine.rows().empty());
    world_.barrier();
  }
  attempt(2, 1, who + " self SIGSEGV");
  const Quarantine quarantine(folder_.path(), world_, 3);
  ASSERT_EQ(quarantine.rows().size(), 1U);
  EXPECT_EQ(quarantine.rows().front().sample, 4 * guilty);
  ASSERT_NE(quarantine.reason(7, 4 * guilty), nullptr);
  EXPECT_EQ(quarantine.reason(7, 4 * guilty + 1), nullptr);
  EXPECT_EQ(*quarantine.reason(7, 4 * guilty),
            "its rank was killed by SIGKILL in attempt 1 and was killed by SIGSEGV in attempt 2");
}

TEST_F(QuarantineTest, ADeathThatNobodySawOrThatOnlyTheLauncherSawIsNotCounted) {
  attempt(1, 4, "");
  attempt(2, 4, "0 launcher SIGKILL");
  attempt(3, 4, "0 wat");
  const Quarantine quarantine(folder_.path(), world_, 4);
  // A rank that is alone on its node has no other witness.
  EXPECT_EQ(quarantine.deaths().size(), world_.size() == 1 ? 1U : 0U);
}

TEST_F(QuarantineTest, ARankThatWorkedOnNothingLeavesNoSuspects) {
  {
    Quarantine quarantine(folder_.path(), world_, 1);
    quarantine.begin({7, 0, 4});
    quarantine.end();
    world_.barrier();
    if (world_.rank() == 0) write_death_note(activity().death_note.get(), 0, "watchdog", "unknown");
    world_.barrier();
  }
  const Quarantine quarantine(folder_.path(), world_, 2);
  EXPECT_TRUE(quarantine.deaths().empty());
}

TEST_F(QuarantineTest, AGroupOfTheWorldNamesItsRanksByTheirNumbersInTheWorld) {
  const cluster::Group half = world_.split(world_.rank() % 2, -world_.rank());
  const fs::path folder = folder_.path() / ("half" + std::to_string(world_.rank() % 2));
  const std::string name = "attempt_0001.rank_000" + std::to_string(world_.rank());
  const Quarantine whole(folder_.path(), world_, 1);
  const std::string before = activity().death_note.get();
  {
    Quarantine quarantine(folder, half, 1);
    quarantine.begin({7, 0, 4});
    EXPECT_TRUE(fs::exists(folder / "working" / name));
    EXPECT_EQ(activity().death_note.get(), (folder / "attempts" / "0001.died").string());
    world_.barrier();
  }
  EXPECT_EQ(activity().death_note.get(), before);
}

TEST_F(QuarantineTest, TheFirstNoteStays) {
  const fs::path file = folder_.path() / "attempts" / "0001.died";
  if (world_.rank() != 0) return;
  prepare_death_note(file, 3);
  write_own_death_note(SIGBUS);
  write_death_note(file.c_str(), 1, "watchdog", "unknown");
  prepare_death_note({}, 3);
  const auto note = read_death_note(file);
  ASSERT_TRUE(note.has_value());
  EXPECT_EQ(note->rank, 3);
  EXPECT_EQ(note->witness, "self");
  EXPECT_EQ(note->cause, "SIGBUS");
  std::ofstream(file) << "3 self SIG";  // torn
  EXPECT_FALSE(read_death_note(file).has_value());
  EXPECT_FALSE(read_death_note(folder_.path() / "none").has_value());
}

TEST_F(QuarantineTest, ForgottenRowsLoseTheirChunkInTheJournalAndGetAnother) {
  attempt(1, 4, "0 watchdog SIGKILL");
  attempt(2, 1, "0 watchdog SIGKILL");
  const std::vector<std::byte> payload(5, std::byte{1});
  {
    Quarantine quarantine(folder_.path(), world_, 3);
    ChunkJournal journal(folder_.path(), world_, 3);
    if (world_.rank() == 0) {
      journal.append(7, 0, payload);
      journal.append(7, 1, payload);
    }
    journal.commit();
    ASSERT_EQ(quarantine.rows().size(), 1U);
    quarantine.forget(world_, journal, 4);
    EXPECT_TRUE(quarantine.rows().empty());
    EXPECT_FALSE(quarantine.is_suspect({7, 0, 4}));
    EXPECT_EQ(journal.done(7), std::vector<std::uint64_t>{1});
  }
  world_.barrier();
  {
    ChunkJournal journal(folder_.path(), world_, 4);
    EXPECT_EQ(journal.done(7), std::vector<std::uint64_t>{1});
    if (world_.rank() == world_.size() - 1) journal.append(7, 0, payload);
    journal.commit();
    EXPECT_EQ(journal.done(7), (std::vector<std::uint64_t>{0, 1}));
  }
  world_.barrier();
  const ChunkJournal journal(folder_.path(), world_, 5);
  EXPECT_EQ(journal.done(7), (std::vector<std::uint64_t>{0, 1}));
  const Quarantine quarantine(folder_.path(), world_, 5);
  EXPECT_TRUE(quarantine.deaths().empty());
  EXPECT_EQ(fs::exists(folder_.path() / "quarantine.before_3.jsonl"), true);
}

TEST_F(QuarantineTest, ADamagedListIsRefusedOnAllRanks) {
  if (world_.rank() == 0) std::ofstream(folder_.path() / "quarantine.jsonl") << "{\"attempt\": 1\n";
  world_.barrier();
  try {
    const Quarantine quarantine(folder_.path(), world_, 2);
    ADD_FAILURE() << "was read";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E604");
  }
}

}  // namespace
}  // namespace mgpu::store
