// Starts hang_probe as a user would. One of four ranks misbehaves in step 40, with a limit of one
// second, and the message must name it.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/group.hpp>

#include "support/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

struct Outcome {
  int exit_code;
  double seconds;
  std::string text;
};

/// Returns the watchdog's shared memory objects on this machine, of all runs.
std::set<std::string> pages_in_shared_memory() {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("mgpu_watch.")) names.insert(name);
  }
  return names;
}

/// Returns the objects that are new since `before` and remain. It waits, because another run that
/// starts now has such an object for a moment.
std::set<std::string> pages_left_since(const std::set<std::string>& before) {
  std::set<std::string> left = pages_in_shared_memory();
  std::erase_if(left, [&](const std::string& name) { return before.contains(name); });
  if (left.empty()) return left;
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const std::set<std::string> now = pages_in_shared_memory();
  std::erase_if(left, [&](const std::string& name) { return !now.contains(name); });
  return left;
}

class WatchdogTest : public testing::Test {
protected:
  /// Runs the probe, and returns how it ended. The message boxes of mpirun go to a file.
  Outcome run(const std::string& how, int rank, const std::string& environment = "",
              int limit_s = 1) {
    const std::string command = environment + " OPAL_OUTPUT_REDIRECT=file TMPDIR=" + folder() +
                                " " MPIEXEC
                                " --oversubscribe --bind-to none -x OPAL_OUTPUT_REDIRECT="
                                " --mca mpi_yield_when_idle 1 -np 4 " HANG_PROBE " " +
                                how + " " + std::to_string(rank) + " " + folder() + " " +
                                std::to_string(limit_s) + " 2>&1";
    const auto begun = std::chrono::steady_clock::now();
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {-1, 0.0, "popen failed"};
    std::string text;
    std::array<char, 256> part{};
    while (std::fgets(part.data(), part.size(), pipe) != nullptr)
      text += part.data();
    const int status = pclose(pipe);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, took.count(), text};
  }

  /// Expects one message that names rank 2 first, and the state of all ranks.
  void expect_named(const Outcome& outcome, const std::string& sentence) {
    EXPECT_EQ(outcome.exit_code, 76) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex("error.E405.: rank 2 .[^ ]+, pid [0-9]+. " + sentence));
    EXPECT_THAT(outcome.text, HasSubstr("rank 2: phase compute, step 40, in "));
    EXPECT_THAT(outcome.text, ContainsRegex("ranks 0-1, 3: phase compute, step 40, in all_reduce"));
    EXPECT_EQ(outcome.text.find("error["), outcome.text.rfind("error[")) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("mgpu_spmd: failed E405, exit 76"));
    const std::string report = mgpu::read_file(place_.path() / "hang_report.txt");
    EXPECT_THAT(report, HasSubstr("--- process of rank 2\n"));
    // Checked builds compare the calls of all ranks by MPI_Allgather before each collective.
    const char* waiting_in = mgpu::cluster::Group::is_checked() ? "MPI_Allgather" : "MPI_Allreduce";
    EXPECT_THAT(report, HasSubstr(waiting_in));
    EXPECT_THAT(mgpu::read_file(place_.path() / "crash" / "rank_00.txt"), HasSubstr(waiting_in));
  }

  std::string folder() const { return place_.path().string(); }

  mgpu::testing_support::TemporaryFolder place_;
};

TEST_F(WatchdogTest, RanksThatGetOnAreLeftAlone) {
  const Outcome outcome = run("nothing", 2);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(outcome.text, "");
  EXPECT_FALSE(fs::exists(place_.path() / "crash"));
}

TEST_F(WatchdogTest, AStoppedRankIsNamed) {
  const Outcome outcome = run("stop", 2);
  expect_named(outcome, "hangs: its process is stopped, no progress for 1");
  EXPECT_THAT(outcome.text, HasSubstr("its process: stopped (state T)"));
  EXPECT_LT(outcome.seconds, 30.0);
}

TEST_F(WatchdogTest, AnEndlessLoopIsNamedWithItsStack) {
  expect_named(run("spin", 2), "hangs: no progress for 1");
  EXPECT_THAT(mgpu::read_file(place_.path() / "crash" / "rank_02.txt"),
              HasSubstr("hang_probe(+0x"));
}

TEST_F(WatchdogTest, ARankThatSleepsIsNamed) {
  expect_named(run("sleep", 2), "hangs: no progress for 1");
}

TEST_F(WatchdogTest, AReceiveThatNobodySendsToIsNamed) {
  const Outcome outcome = run("receive", 2);
  expect_named(outcome, "does not come to where the others wait");
  EXPECT_THAT(outcome.text, HasSubstr("in send_receive of 1 i32 with rank 3"));
}

TEST_F(WatchdogTest, AReceiveThatGoesPastOurGroupsIsNamed) {
  expect_named(run("hidden_receive", 2), "hangs: no progress for 1");
}

TEST_F(WatchdogTest, ACollectiveThatDoesNotFitIsNamed) {
  if (mgpu::cluster::Group::is_checked()) GTEST_SKIP() << "checked builds refuse the call";
  const Outcome outcome = run("mismatch", 2);
  expect_named(outcome, "calls something else than the others");
  EXPECT_THAT(outcome.text, HasSubstr("rank 2 calls broadcast u8, root 3, the others call "
                                      "all_reduce of 1 i64, sum"));
}

TEST_F(WatchdogTest, ADeadRankIsNamedBeforeTheLauncherKillsTheOthers) {
  const std::set<std::string> before = pages_in_shared_memory();
  const Outcome outcome = run("kill", 1);
  EXPECT_EQ(outcome.exit_code, 137) << outcome.text;  // exit code of mpirun
  EXPECT_THAT(outcome.text, ContainsRegex("error.E401.: rank 1 .[^ ]+, pid [0-9]+. died"));
  EXPECT_THAT(outcome.text, HasSubstr("it was last in phase compute, step 40"));
  EXPECT_THAT(outcome.text, HasSubstr("= help: the same command resumes the run"));
  EXPECT_EQ(outcome.text.find("error["), outcome.text.rfind("error[")) << outcome.text;
  for (const char* file : {"rank_00.txt", "rank_02.txt", "rank_03.txt"})
    EXPECT_THAT(mgpu::read_file(place_.path() / "crash" / file), HasSubstr("error[E401]: rank 1"));
  EXPECT_THAT(pages_left_since(before), testing::IsEmpty());
}

TEST_F(WatchdogTest, ADeathOfTheFirstRankIsNamedByAnother) {
  const Outcome outcome = run("kill", 0);
  EXPECT_THAT(outcome.text, ContainsRegex("error.E401.: rank 0 .[^ ]+, pid [0-9]+. died"));
}

TEST_F(WatchdogTest, TheLastWordsOfACrashAreShown) {
  const Outcome outcome = run("crash", 2);
  EXPECT_THAT(outcome.text, ContainsRegex("error.E401.: rank 2 "));
  EXPECT_THAT(outcome.text, HasSubstr("its last words: killed by SIGSEGV"));
}

TEST_F(WatchdogTest, WaitingForARankThatGetsOnIsNoHang) {
  const Outcome outcome = run("work", 2);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_GT(outcome.seconds, 3.0);
}

TEST_F(WatchdogTest, ASlowPhaseHasALimitOfItsOwn) {
  EXPECT_EQ(run("slow", 2).exit_code, 0);
}

TEST_F(WatchdogTest, ARankOfAnotherNodeIsNamedOnce) {
  expect_named(run("spin", 2, "MGPU_RANKS_PER_NODE=2"), "hangs: no progress for ");
}

TEST_F(WatchdogTest, ADeathOnAnotherNodeIsNamedOnce) {
  const Outcome outcome = run("kill", 3, "MGPU_RANKS_PER_NODE=2");
  EXPECT_THAT(outcome.text, ContainsRegex("error.E401.: rank 3 "));
  EXPECT_EQ(outcome.text.find("error["), outcome.text.rfind("error[")) << outcome.text;
}

TEST_F(WatchdogTest, NodesThatGetOnLeaveNoFiles) {
  EXPECT_EQ(run("nothing", 2, "MGPU_RANKS_PER_NODE=1").exit_code, 0);
  EXPECT_FALSE(fs::exists(place_.path() / "watch"));
}

/// Both ranks of the second node are stopped, so that node is silent, and the first node must
/// notice.
TEST_F(WatchdogTest, ANodeThatSaysNothingIsLost) {
  const Outcome outcome = run("stop_node", 2, "MGPU_RANKS_PER_NODE=2", /*limit_s=*/8);
  EXPECT_EQ(outcome.exit_code, 76) << outcome.text;
  EXPECT_THAT(outcome.text, ContainsRegex("error.E401.: node [^ ]+ .ranks 2-3. has said nothing"));
}

}  // namespace
