// Tests RowPhase with a job that needs no model: which rank processes which rows, what the journal
// stores, and how rows and batches that fail are treated.
#include <chrono>
#include <csignal>
#include <new>
#include <thread>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/run/row_phase.hpp>

#include "fake_row_worker.hpp"
#include "fake_run.hpp"
#include "lm/made_folder.hpp"

namespace mgpu::run {
namespace {

using test::FakeWorker;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::uint32_t kPhase = 9;
constexpr std::int64_t kRows = 10;
constexpr std::int64_t kChunkRows = 4;
constexpr BatchNames kTexts{"fake.batch_size", "text", "texts", "fake.length"};

const lm::MadeModel kTiny{
    .layers = 1, .width = 16, .inner = 16, .heads = 2, .kv_heads = 1, .vocab = 8};

class RowPhaseTest : public testing::Test {
protected:
  void open(const testing_support::Keys& keys = {}) {
    run_ = std::make_unique<test::FakeRun>(keys);
  }

  /// Returns a phase over the rows of `part`; by default these are all rows.
  RowPhase phase(ChunkPart part = {}) {
    if (!run_) open();
    job_keys_ = read_job_keys(run_->context().config);
    model_keys_ = read_model_keys(run_->context().config);
    return {run_->context(),
            {job_keys_, model_keys_, folder_},
            {.chunks = {"rows", kPhase, kRows, kChunkRows, part},
             .names = kTexts,
             .clock_phase = "fake",
             .results_per_row = 2}};
  }

  /// Processes all rows. Returns the chunks of the journal.
  std::vector<std::string> work_on_all() {
    RowPhase rows = phase();
    FakeWorker worker(rows);
    EXPECT_TRUE(rows.run(worker));
    return run_->journaled(kPhase);
  }

  std::int64_t sum(std::int64_t mine) const { return world_.all_reduce(mine); }

  const cluster::Group world_ = cluster::Group::world();
  const lm::MadeFolder model_{world_, kTiny};
  const std::filesystem::path folder_ = model_.path();
  JobKeys job_keys_;
  ModelKeys model_keys_;
  std::unique_ptr<test::FakeRun> run_;
};

const auto kAllRows = ElementsAre("0:0,10,20,30,", "4:40,50,60,70,", "8:80,90,");

TEST_F(RowPhaseTest, TheJournalHasEachRowOnceHoweverManyRanksThereAre) {
  EXPECT_THAT(work_on_all(), kAllRows);
}

TEST_F(RowPhaseTest, ChunksThatAreSharedOutBeforehandHoldTheSame) {
  open({{"run.schedule", "static"}});
  EXPECT_THAT(work_on_all(), kAllRows);
}

TEST_F(RowPhaseTest, ABatchHasTheRowsOfSeveralChunks) {
  open({{"run.schedule", "static"}});
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.set_batch_size(24);  // the results of three chunks
  EXPECT_TRUE(rows.run(worker));

  EXPECT_THAT(run_->journaled(kPhase), kAllRows);
  EXPECT_LE(worker.calls, 1);
  EXPECT_EQ(sum(worker.calls), std::min(3, world_.size()));
  EXPECT_EQ(sum(std::ssize(worker.chunks)), 3);
  EXPECT_EQ(sum(rows.work().output_tokens), 3 * kRows);
}

TEST_F(RowPhaseTest, TheWorkOfAllGroupsAddsUpToAllRows) {
  RowPhase rows = phase();
  FakeWorker worker(rows);
  rows.run(worker);

  const std::vector<GroupWork> groups = rows.work_of_groups();
  ASSERT_EQ(std::ssize(groups), world_.size());  // each rank is a group
  EXPECT_EQ(groups[static_cast<std::size_t>(world_.rank())].rows, rows.work().rows);
  EXPECT_EQ(sum(rows.work().rows), kRows);
  EXPECT_EQ(rows.work().input_tokens, 2 * rows.work().rows);
  EXPECT_EQ(rows.work().output_tokens, 3 * rows.work().rows);
  EXPECT_EQ(sum(std::ssize(worker.chunks)), 3);
  EXPECT_EQ(worker.shown.size(), worker.chunks.size());
  EXPECT_GE(rows.seconds(), 0.0);
}

TEST_F(RowPhaseTest, AnOutcomeCountsResultsNotRows) {
  RowPhase rows = phase();
  FakeWorker worker(rows);
  EXPECT_EQ(rows.outcome(ExitCode::stopped).done, 0);

  rows.run(worker);
  const JobOutcome outcome = rows.outcome(ExitCode::done);

  EXPECT_EQ(outcome.exit, ExitCode::done);
  EXPECT_EQ(outcome.unit, "samples");
  EXPECT_EQ(outcome.total, 2 * kRows);
  EXPECT_EQ(outcome.done, 2 * kRows);
  EXPECT_EQ(sum(outcome.samples_here), 2 * kRows);
}

TEST_F(RowPhaseTest, APartOfTheRunIsAPartOfTheChunks) {
  open({{"run.worker_id", "1"}, {"run.total_workers", "2"}});
  RowPhase rows = phase({1, 2});
  FakeWorker worker(rows);
  EXPECT_TRUE(rows.run(worker));

  EXPECT_THAT(run_->journaled(kPhase), ElementsAre("8:80,90,"));
  EXPECT_EQ(rows.outcome(ExitCode::done).total, 4);
}

TEST_F(RowPhaseTest, AResumedRunWorksOnWhatTheJournalLacks) {
  open();
  work_on_all();
  run_->resume();
  RowPhase rows = phase();
  FakeWorker worker(rows);

  EXPECT_TRUE(rows.run(worker));
  EXPECT_EQ(worker.calls, 0);
  EXPECT_EQ(rows.outcome(ExitCode::done).samples_here, 0);
  EXPECT_EQ(rows.outcome(ExitCode::done).done, 2 * kRows);
}

TEST_F(RowPhaseTest, AStopEndsThePhaseBehindTheChunk) {
  open();
  std::int64_t first_rows = 0;
  {
    RowPhase rows = phase();
    FakeWorker worker(rows);
    worker.before_work = [](std::int64_t) { std::raise(SIGUSR1); };
    const bool is_complete = rows.run(worker);
    first_rows = sum(rows.work().rows);

    EXPECT_LE(worker.calls, 1);
    EXPECT_EQ(is_complete, first_rows == kRows);  // three or more ranks may have taken all chunks
    EXPECT_EQ(rows.outcome(ExitCode::stopped).done, 2 * first_rows);
    EXPECT_GT(first_rows, 0);
  }
  run_->resume();
  RowPhase rows = phase();
  FakeWorker worker(rows);
  EXPECT_TRUE(rows.run(worker));
  EXPECT_EQ(sum(rows.work().rows), kRows - first_rows);
  EXPECT_THAT(run_->journaled(kPhase), kAllRows);
}

TEST_F(RowPhaseTest, WantOfMemoryHalvesTheBatchUntilItFits) {
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.room = 2;
  EXPECT_TRUE(rows.run(worker));

  EXPECT_THAT(run_->journaled(kPhase), kAllRows);
  if (worker.chunks.empty()) return;  // other ranks claimed all chunks
  EXPECT_EQ(worker.batch_size(), 2);
  EXPECT_EQ(worker.calls, static_cast<int>(worker.chunks.size()) + 2);
  EXPECT_THAT(
      run_->heard.texts("warn"),
      IsSupersetOf({"out of memory with 8 texts at once: these rows are processed again with 4",
                    "out of memory with 4 texts at once: these rows are processed again with 2"}));
  const std::vector<PhaseClock::Total> totals = run_->context().clock.totals();
  const auto halved = std::find_if(totals.begin(), totals.end(), [](const auto& total) {
    return total.phase == "batch halved for memory";  // run.h5 has the phases of the clock
  });
  ASSERT_NE(halved, totals.end());
  EXPECT_EQ(halved->calls, 2);
}

TEST_F(RowPhaseTest, WithoutRoomForOneTextTheRunEndsAndSaysWhatWouldFit) {
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.room = 0;
  try {
    rows.run(worker);
    FAIL() << "went on";
  } catch (const cluster::CollectiveFailure& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::out_of_memory);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("out of memory with one text at a time: fake.batch_size is 1"),
                      HasSubstr("= weights ")));
  }
  EXPECT_THAT(run_->journaled(kPhase), IsEmpty());
}

TEST_F(RowPhaseTest, AnotherFailureIsNotTriedAgain) {
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.before_work = [](std::int64_t) {
    throw Failure({"E704", ExitCode::numeric, "the logits are not finite", {}, ""});
  };
  try {
    rows.run(worker);
    FAIL() << "went on";
  } catch (const cluster::CollectiveFailure& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::numeric);
  }
  EXPECT_LE(worker.calls, 1);
  EXPECT_EQ(worker.batch_size(), 8);
}

TEST_F(RowPhaseTest, ProgressIsToldInResults) {
  open({{"run.schedule", "static"}});
  RowPhase rows = phase();
  FakeWorker worker(rows);
  rows.run(worker);
  if (worker.chunks.empty()) return;  // other ranks had the three chunks

  const Event* last = nullptr;
  for (const Event& event : run_->heard.events)
    if (event.word == "gen") last = &event;
  ASSERT_NE(last, nullptr);
  // The last event of a rank is that of its last chunk: all samples of its share are done.
  EXPECT_EQ(std::get<std::int64_t>(last->fields[0].second), 2 * rows.work().rows);
  EXPECT_EQ(std::get<std::int64_t>(last->fields[1].second), 2 * rows.work().rows);
  ASSERT_THAT(run_->heard.scalars, SizeIs(worker.chunks.size()));
  EXPECT_EQ(run_->heard.scalars.back().tag, "perf/tokens_per_second");
  EXPECT_EQ(run_->heard.scalars.back().step, 2 * rows.work().rows);
}

TEST_F(RowPhaseTest, ProgressIsToldWithinAChunk) {
  open({{"run.schedule", "static"}});
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.before_work = [&](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // progress is told once a second
    worker.progress(3);
  };
  rows.run(worker);
  if (worker.chunks.empty()) return;  // other ranks had the three chunks

  std::vector<std::int64_t> told;
  for (const Event& event : run_->heard.events)
    if (event.word == "gen") told.push_back(std::get<std::int64_t>(event.fields[0].second));
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told.front(), 3);
  EXPECT_EQ(told.back(), 2 * rows.work().rows);
}

TEST_F(RowPhaseTest, RanksWithoutWorkAreNotedAtTheBeginningAndAtTheEnd) {
  RowPhase rows = phase();  // three chunks
  FakeWorker worker(rows);
  rows.run(worker);
  const bool has_idle = world_.size() > 3;
  EXPECT_EQ(run_->heard.texts("note").size(), has_idle ? 1U : 0U);
  EXPECT_EQ(rows.outcome(ExitCode::done).notes.size(), has_idle ? 1U : 0U);
}

TEST_F(RowPhaseTest, AGivenBatchIsTaken) {
  RowPhase rows = phase();
  const lm::MemoryDemand demand{.batch_size = 4, .longest = 32};

  EXPECT_EQ(rows.choose_batch(demand, false), 4);
  EXPECT_THAT(rows.memory_text(4), AllOf(StartsWith("4 texts at once: "), HasSubstr("= weights "),
                                         HasSubstr("free after loading the weights")));
}

TEST_F(RowPhaseTest, AnAutomaticBatchIsTheSameOnAllRanks) {
  RowPhase rows = phase();
  const std::int64_t batch = rows.choose_batch({.batch_size = 5, .longest = 32}, true);

  EXPECT_EQ(batch, 5);  // the machine has room for such a model
  EXPECT_THAT(world_.all_gather(batch), Each(batch));
  EXPECT_THAT(rows.memory_text(batch), StartsWith("5 texts at once (auto): "));
}

TEST_F(RowPhaseTest, AnAutomaticBatchOnAGpuIsThatOfTheFirstAttempt) {
  RowPhase rows = phase();
  run_->context().device.kind = DeviceKind::cuda;
  run_->context().directory.resolve(world_, kTexts.key, "3");

  EXPECT_EQ(rows.choose_batch({.batch_size = 5, .longest = 32}, true), 3);
}

/// A rank died twice with row 5, the second time with that row alone.
constexpr const char* kDeaths =
    R"({"attempt":1,"rank":0,"host":"here","phase":9,"first":4,"count":4,"cause":"SIGKILL"})"
    "\n"
    R"({"attempt":2,"rank":0,"host":"here","phase":9,"first":5,"count":1,"cause":"SIGKILL"})"
    "\n";

TEST_F(RowPhaseTest, AQuarantinedRowIsLeftOutAndItsChunkGoesRowByRow) {
  open();
  run_->write_deaths(kDeaths);
  RowPhase rows = phase();
  FakeWorker worker(rows);
  EXPECT_TRUE(rows.run(worker));

  EXPECT_THAT(run_->journaled(kPhase),
              ElementsAre("0:0,10,20,30,", "4:40,left,60,70,", "8:80,90,"));
  EXPECT_EQ(sum(std::ssize(worker.reasons)), 1);
  for (const std::string& reason : worker.reasons)
    EXPECT_EQ(reason, "quarantined: its rank was killed by SIGKILL in attempts 1 and 2");
  for (const auto& [first, count] : worker.encoded)
    EXPECT_EQ(count, first == 0 ? 4 : first == 8 ? 2 : 1) << first;
  EXPECT_EQ(sum(rows.work().output_tokens), 3 * (kRows - 1));
}

TEST_F(RowPhaseTest, ChunksAreNotJoinedWithTheRowsOfADeath) {
  open();
  run_->write_deaths(kDeaths);
  RowPhase rows = phase();
  FakeWorker worker(rows);
  worker.set_batch_size(24);
  EXPECT_TRUE(rows.run(worker));

  EXPECT_THAT(run_->journaled(kPhase),
              ElementsAre("0:0,10,20,30,", "4:40,left,60,70,", "8:80,90,"));
  for (const auto& [first, count] : worker.encoded)
    EXPECT_EQ(count, first == 0 ? 4 : first == 8 ? 2 : 1) << first;
}

TEST_F(RowPhaseTest, WhoDiedOfWhatIsTold) {
  open();
  run_->write_deaths(kDeaths);
  RowPhase rows = phase();
  log_suspects(run_->context(), rows.chunks());

  EXPECT_THAT(run_->heard.texts("note"),
              ElementsAre("rank 0 died in attempt 1 while it worked on rows 4-7: they are worked "
                          "on one by one"));
  ASSERT_THAT(run_->heard.texts("warn"), SizeIs(1));
  EXPECT_THAT(run_->heard.texts("warn").front(),
              AllOf(StartsWith("1 row killed its rank twice and is left out: row 5: its rank"),
                    HasSubstr("run.retry_quarantined=true with --resume=")));
  JobOutcome outcome;
  add_quarantined(run_->context(), rows.chunks(), outcome);
  ASSERT_THAT(outcome.results, SizeIs(1));
  EXPECT_EQ(outcome.results.front().key, "quarantined_rows");
  EXPECT_EQ(outcome.results.front().value, 1.0);
  EXPECT_THAT(outcome.notes, SizeIs(1));
}

TEST_F(RowPhaseTest, RowsOfOtherPhasesAndPartsAreNotTold) {
  open();
  run_->write_deaths(kDeaths);
  JobOutcome outcome;
  add_quarantined(run_->context(), {"rows", kPhase + 1, kRows, kChunkRows}, outcome);
  add_quarantined(run_->context(), {"rows", kPhase, kRows, kChunkRows, {1, 2}}, outcome);
  EXPECT_THAT(outcome.results, IsEmpty());
  add_quarantined(run_->context(), {"rows", kPhase, kRows, kChunkRows, {0, 2}}, outcome);
  EXPECT_THAT(outcome.results, SizeIs(1));
}

TEST(SpeedsOfTest, AllWorkIsDividedByTheTimeOfTheSlowestGroup) {
  const std::vector<GroupWork> groups = {
      {.rows = 10, .input_tokens = 100, .output_tokens = 0, .seconds = 2.0},
      {.rows = 30, .input_tokens = 60, .output_tokens = 0, .seconds = 4.0},
      {}};

  const GroupSpeeds rows = speeds_of(groups, &GroupWork::rows);
  EXPECT_THAT(rows.of_groups, ElementsAre(5.0, 7.5, 0.0));
  EXPECT_EQ(rows.total, 10.0);
  EXPECT_EQ(speeds_of(groups, &GroupWork::input_tokens).total, 40.0);
  EXPECT_EQ(speeds_of({{}, {}}, &GroupWork::rows).total, 0.0);
}

TEST(SpeedsOfTest, GeneratedTokensCountWhereThereAreAny) {
  EXPECT_EQ((GroupWork{.rows = 1, .input_tokens = 7, .output_tokens = 3}.tokens()), 3);
  EXPECT_EQ((GroupWork{.rows = 1, .input_tokens = 7, .output_tokens = 0}.tokens()), 7);
}

}  // namespace
}  // namespace mgpu::run
