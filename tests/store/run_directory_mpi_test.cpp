#include <fstream>
#include <optional>
#include <string>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

#include "run_directory_case.hpp"

namespace mgpu::store {
namespace {

TEST_F(RunDirectoryTest, AValueThatARunFindsIsPartOfItsIdentity) {
  const auto with_batch = [&](const std::string& size) {
    RunRequest made = request("one, a.batch_size=" + size + ", part 0 of 2");
    made.keys = {{"a.batch_size", size}};
    if (size == "auto") made.resolved_later = {"a.batch_size"};
    return made;
  };
  fs::path first;
  {
    RunDirectory directory(world_, with_batch("auto"));
    first = directory.path();
    EXPECT_EQ(directory.resolved(world_, "a.batch_size"), "");
    directory.resolve(world_, "a.batch_size", "24");
  }
  EXPECT_EQ(identity_of_run(first), "one, a.batch_size=24, part 0 of 2");
  EXPECT_EQ(keys_of_run(first).at("a.batch_size"), "24");
  for (const char* size : {"auto", "24"}) {
    world_.barrier();
    const RunDirectory directory(world_, with_batch(size));
    EXPECT_EQ(directory.path(), first) << size;
    EXPECT_EQ(directory.resolved(world_, "a.batch_size"), "24");
  }
  world_.barrier();
  const RunDirectory other(world_, with_batch("16"));
  EXPECT_NE(other.path(), first);
}

TEST_F(RunDirectoryTest, AnUnfinishedRunIsContinuedAndAFinishedOneIsNot) {
  fs::path first;
  {
    const RunDirectory directory(world_, request());
    first = directory.path();
    EXPECT_EQ(directory.attempt(), 1U);
    EXPECT_FALSE(directory.is_resumed());
  }
  world_.barrier();
  {
    RunDirectory directory(world_, request());
    EXPECT_EQ(directory.path(), first);
    EXPECT_EQ(directory.attempt(), 2U);
    world_.barrier();
    EXPECT_FALSE(fs::exists(first.parent_path() / "latest"));
    world_.barrier();
    directory.point_latest();
    world_.barrier();
    EXPECT_EQ(fs::canonical(first.parent_path() / "latest"), fs::canonical(first));
    EXPECT_EQ(fs::canonical(folder_.path() / "runs" / ("trial_" + first.filename().string())),
              fs::canonical(first / "tb"));
    directory.finish(world_, ExitCode::done);
  }
  world_.barrier();

  const RunDirectory next(world_, request());

  EXPECT_NE(next.path(), first);
  EXPECT_EQ(next.attempt(), 1U);
}

TEST_F(RunDirectoryTest, ALostOrDamagedRecordOfAnAttemptStopsNoResume) {
  fs::path folder;
  {
    const RunDirectory directory(world_, request());
    folder = directory.path();
  }
  world_.barrier();
  if (world_.rank() == 0) {
    fs::remove(folder / "attempts" / "0001.json");
    std::ofstream(folder / "parts" / "attempt_0002.rank_0000.ledger") << "x";
  }
  world_.barrier();
  {
    const RunDirectory again(world_, request());
    EXPECT_EQ(again.attempt(), 3U);
  }
  world_.barrier();
  if (world_.rank() == 0) std::ofstream(folder / "attempts" / "0003.json") << "{";
  world_.barrier();
  const RunDirectory last(world_, request());
  EXPECT_EQ(last.attempt(), 4U);
  const std::vector<AttemptRecord> attempts = attempts_of(folder);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].attempt, 3U);
  EXPECT_EQ(attempts[0].host, "");
  EXPECT_NE(attempts[1].host, "");
}

TEST_F(RunDirectoryTest, AnotherConfigurationStartsBesideOrIsRefusedWithItsKeys) {
  const RunDirectory first(world_, request());
  world_.barrier();

  const RunDirectory beside(world_, request("two"));
  EXPECT_NE(beside.path(), first.path());
  RunRequest explicitly = request("two");
  explicitly.resume = first.path();
  const ErrorReport held = failure_of(explicitly);
  EXPECT_EQ(held.exit, ExitCode::in_use);
}

TEST_F(RunDirectoryTest, AnExplicitFolderIsChecked) {
  fs::path first;
  {
    RunDirectory directory(world_, request());
    directory.point_latest();
    first = directory.path();
  }
  world_.barrier();

  RunRequest other = request("two");
  other.resume = first;
  const ErrorReport report = failure_of(other);
  EXPECT_EQ(report.exit, ExitCode::cannot_create);
  ASSERT_EQ(report.lines.size(), world_.size() == 1 ? 2U : 3U);
  EXPECT_EQ(report.lines[1], "  train.lr: 0.1 there, 0.2 here");

  RunRequest missing = request();
  missing.resume = folder_.path() / "nowhere";
  EXPECT_EQ(failure_of(missing).exit, ExitCode::no_input);

  RunRequest latest = request();
  latest.output = folder_.path() / "link";  // to the folder of outputs
  latest.resume = first.parent_path() / "latest";
  if (world_.rank() == 0) fs::create_directory_symlink("outputs", latest.output);
  world_.barrier();
  {
    RunDirectory directory(world_, latest);
    EXPECT_EQ(directory.attempt(), 2U);
    if (world_.rank() == 0) fs::remove(first.parent_path() / "latest");
    directory.point_latest();
    world_.barrier();
    EXPECT_EQ(fs::read_symlink(first.parent_path() / "latest"), first.filename());
    directory.finish(world_, ExitCode::incomplete);
  }
  world_.barrier();
  EXPECT_EQ(failure_of(latest).exit, ExitCode::incomplete);  // as the run ended
}

TEST_F(RunDirectoryTest, NeverStartsBesideAnUnfinishedRun) {
  const RunDirectory first(world_, request());
  RunRequest made = request();
  made.resume = "never";

  const RunDirectory second(world_, made);

  EXPECT_NE(first.path(), second.path());
}

TEST_F(RunDirectoryTest, ADamagedRecordIsNamedAndPassedOver) {
  fs::path first;
  {
    const RunDirectory directory(world_, request());
    first = directory.path();
  }
  world_.barrier();
  if (world_.rank() == 0) std::ofstream(first / "run.json") << "{\"format\": 1";
  world_.barrier();

  const RunDirectory next(world_, request());

  EXPECT_NE(next.path(), first);
  ASSERT_EQ(next.notes().size(), 1U);
  EXPECT_NE(next.notes()[0].find("run.json is damaged"), std::string::npos);
  RunRequest made = request();
  made.resume = first;
  EXPECT_EQ(failure_of(made).exit, ExitCode::corrupt);
}

TEST_F(RunDirectoryTest, TooLittleSpaceIsSaidBeforeWork) {
  RunRequest made = request();
  made.needed_bytes = std::uint64_t{1} << 60;

  const ErrorReport report = failure_of(made);

  EXPECT_EQ(report.exit, ExitCode::io);
  EXPECT_FALSE(fs::exists(made.output));
}

TEST_F(RunDirectoryTest, WhatARunHasWrittenNeedNotBeFreeAgain) {
  RunRequest made = request();
  fs::path first;
  {
    const RunDirectory directory(world_, made);
    first = directory.path();
  }
  constexpr std::uint64_t kWritten = std::uint64_t{1} << 40;
  if (world_.rank() == 0) {
    std::ofstream(first / "parts" / "ledger") << "x";
    fs::resize_file(first / "parts" / "ledger", kWritten);
    fs::create_hard_link(first / "parts" / "ledger", first / "parts" / "link");
  }
  world_.barrier();
  made.needed_bytes = free_bytes(first) + kWritten / 2;

  EXPECT_EQ(RunDirectory(world_, made).path(), first);
  world_.barrier();
  made.needed_bytes += kWritten;
  EXPECT_EQ(failure_of(made).code, "E602");
  made.resume = "never";
  made.needed_bytes -= kWritten;
  EXPECT_EQ(failure_of(made).code, "E602");
}

TEST_F(RunDirectoryTest, AFolderThatCannotBeMadeEndsWith73) {
  if (world_.rank() == 0) std::ofstream(folder_.path() / "file") << "x";
  world_.barrier();
  RunRequest made = request();
  made.output = folder_.path() / "file" / "outputs";

  EXPECT_EQ(failure_of(made).exit, ExitCode::cannot_create);
}

TEST_F(RunDirectoryTest, WhereNothingCanBeMadeThereIsNoLackOfSpace) {
  RunRequest made = request();
  made.output = "/proc/outputs";
  made.needed_bytes = 1;

  EXPECT_EQ(failure_of(made).code, "E601");
}

TEST_F(RunDirectoryTest, AnOldAttemptMayNotPublish) {
  RunDirectory directory(world_, request());
  if (world_.rank() == 0) {
    directory.check_current();
    std::ofstream(directory.path() / "attempts" / "0002.json") << "{}";
    EXPECT_THROW(directory.check_current(), Failure);
    fs::remove(directory.path() / "attempts" / "0002.json");
    std::ofstream(directory.path() / "lease.json") << "{}";
    EXPECT_THROW(directory.check_current(), Failure);
  }
  world_.barrier();
}

/// Returns whether a lease with this text, placed in a fresh folder, is taken over.
bool is_taken_over(const fs::path& folder, const std::string& lease) {
  fs::create_directories(folder);
  std::ofstream(folder / "lease.json") << lease;
  const RunLock lock(folder, 0.1);
  return lock.is_held();
}

TEST_F(RunDirectoryTest, ALeaseWithoutALockIsStale) {
  if (world_.rank() != 0) return;
  EXPECT_TRUE(is_taken_over(folder_.path() / "a", "{\"host\": \"elsewhere\", \"pid\": 1}"));
  EXPECT_TRUE(is_taken_over(folder_.path() / "b", "not json"));
  fs::create_directory(folder_.path() / "c");
  ASSERT_EQ(::mkfifo((folder_.path() / "c/lease.json").c_str(), 0600), 0);
  EXPECT_TRUE(RunLock(folder_.path() / "c", 0.1).is_held()) << "a pipe";
}

TEST_F(RunDirectoryTest, TheLockOfAKilledProcessIsFree) {
  if (world_.rank() != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock lock(folder_.path(), 0.1);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder_.path() / "lease.json"));

  const RunLock lock(folder_.path(), 0.1);

  EXPECT_TRUE(lock.is_held());
  EXPECT_THROW(RunLock(folder_.path(), 0.1), Failure);  // even this process cannot lock it twice
}

}  // namespace
}  // namespace mgpu::store
