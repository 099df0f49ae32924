#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/commands.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/run_dir/run_lock.hpp>

#include "app/merge_parts.hpp"
#include "tiny_run.hpp"

namespace mgpu::app {
namespace {

using testing::HasSubstr;

class MergeRunTest : public testing::Test {
protected:
  /// Merges a run. Returns the output of rank 0 on all ranks. Ranks: collective.
  std::string merge(const fs::path& run) {
    std::ostringstream printed;
    std::streambuf* screen = std::cout.rdbuf(printed.rdbuf());
    Options options;
    options.action = Action::merge;
    options.detail = run.string();
    try {
      EXPECT_EQ(merge_run(world_, options), ExitCode::done);
    } catch (...) {
      std::cout.rdbuf(screen);
      throw;
    }
    std::cout.rdbuf(screen);
    return world_.broadcast(printed.str(), 0);
  }

  ErrorReport refusal_of(const fs::path& run) {
    try {
      merge(run);
    } catch (const Failure& failure) {
      return failure.report();
    }
    ADD_FAILURE() << "was merged";
    return {};
  }

  store::ReadTable table(const fs::path& file, const std::string& name) {
    return store::read_table(world_, file, name);
  }

  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};
};

TEST_F(MergeRunTest, HalfATrainingBecomesAPartialFileAndCanStillBeFinished) {
  const fs::path whole = test::run_tiny(world_, folder_, "never", -1);
  const fs::path run = test::run_tiny(world_, folder_, "never", 2);

  const std::string printed = merge(run);
  const store::ReadTable train = table(run / "results.h5", "metrics/train");
  const store::ReadTable samples = table(run / "results.h5", "samples");
  test::run_tiny(world_, folder_, run.string(), -1);

  EXPECT_THAT(printed, HasSubstr("results.h5: partial\n"));
  EXPECT_THAT(printed, HasSubstr("training    3 of 4 steps\n"));
  EXPECT_THAT(printed, HasSubstr("evaluation  0 of 48 episodes\n"));
  EXPECT_EQ(train.rows, 3);  // ranks agree to stop in the step after the signal
  EXPECT_EQ(samples.rows, 0);
  EXPECT_EQ(samples.missing_rows, 48);  // 8 unseen tasks, 3 controls, 1 run, 2 episodes
  EXPECT_EQ(sha256_hex_of_file(run / "results.h5"), sha256_hex_of_file(whole / "results.h5"));
}

TEST_F(MergeRunTest, HistoriesThatAreNotAllThereArePlayedByTheRunThatResumes) {
  const fs::path run = test::run_tiny(world_, folder_, "never", 0);

  const std::string printed = merge(run);
  const store::ReadTable partial = table(run / "histories.h5", "histories");
  test::run_tiny(world_, folder_, run.string(), -1);

  EXPECT_THAT(printed, HasSubstr("of 73 histories\n"));
  EXPECT_THAT(printed, HasSubstr("training    0 of 4 steps\n"));
  EXPECT_EQ(partial.rows + partial.missing_rows, 73);
  EXPECT_GT(partial.missing_rows, 0);
  EXPECT_EQ(table(run / "histories.h5", "histories").rows, 73);
  EXPECT_EQ(table(run / "results.h5", "samples").missing_rows, 0);
}

TEST(MergeTextTest, TheRunToGoOnWithCanBeTyped) {
  EXPECT_THAT(merge_text({}, "/runs/my $run/results.h5", /*is_finished=*/false),
              HasSubstr("the run can still go on: '--resume=/runs/my $$run'\n"));
}

TEST_F(MergeRunTest, RunH5SaysWhoWorkedOnAKilledRun) {
  const fs::path run = test::run_tiny(world_, folder_, "never", 2);

  merge(run);
  const store::ReadTable attempts = table(run / "run.h5", "attempts");
  const store::ReadTable timing = table(run / "run.h5", "timing");

  EXPECT_EQ(attempts.rows, 2);  // the run that stopped, and this --merge
  EXPECT_EQ(timing.rows, 0);
}

TEST_F(MergeRunTest, WhatARunItselfSaidInRunH5Stays) {
  const fs::path run = test::run_tiny(world_, folder_, "never", 2);
  if (world_.rank() == 0) std::ofstream(run / "run.h5") << "of the run";
  world_.barrier();

  merge(run);

  EXPECT_EQ(read_file(run / "run.h5"), "of the run");
}

TEST_F(MergeRunTest, AFinishedRunIsLeftAlone) {
  const fs::path run = test::run_tiny(world_, folder_, "never", -1);
  const auto written = fs::last_write_time(run / "results.h5");

  const std::string printed = merge(run);

  EXPECT_THAT(printed, HasSubstr("is finished: there is nothing to merge"));
  EXPECT_EQ(fs::last_write_time(run / "results.h5"), written);
  EXPECT_FALSE(fs::exists(run / "attempts" / "0002.json"));
}

TEST_F(MergeRunTest, ARunAtWorkIsNotTouched) {
  const fs::path run = test::run_tiny(world_, folder_, "never", 0);
  std::optional<store::RunLock> lock;
  if (world_.rank() == 0) lock.emplace(run);
  world_.barrier();

  EXPECT_EQ(refusal_of(run).exit, ExitCode::in_use);
  EXPECT_FALSE(fs::exists(run / "results.h5"));
}

TEST_F(MergeRunTest, AnotherFolderIsRefused) {
  const ErrorReport report = refusal_of(folder_.path());

  EXPECT_EQ(report.code, "E609");
  EXPECT_EQ(report.exit, ExitCode::no_input);
}

}  // namespace
}  // namespace mgpu::app
