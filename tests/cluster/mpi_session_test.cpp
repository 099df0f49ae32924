// Starts session_probe as a user would, and checks its output.
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

namespace {

using testing::HasSubstr;
using testing::Not;

struct Outcome {
  int exit_code;
  std::string text;
};

Outcome run(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  std::string text;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr)
    text += part.data();
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

std::string on_ranks(int ranks) {
  return MPIEXEC " --oversubscribe -np " + std::to_string(ranks) + " " SESSION_PROBE " ";
}

TEST(MpiSessionTest, WorksUnderMpirunAndSetsRomio) {
  const Outcome outcome = run(on_ranks(2) + "count");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.text, "2 ranks, io romio321\n");
}

TEST(MpiSessionTest, WorksWithoutMpirun) {
  const Outcome outcome = run(SESSION_PROBE " count");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.text, "1 ranks, io romio321\n");
}

TEST(MpiSessionTest, ARankThatFailsAloneEndsAllWithItsCode) {
  const auto begun = std::chrono::steady_clock::now();
  const Outcome outcome = run(on_ranks(3) + "alone");
  EXPECT_EQ(outcome.exit_code, 74);
  EXPECT_THAT(outcome.text, HasSubstr("error[E602]: disk full"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

TEST(MpiSessionTest, AFailureOfAllEndsInOrderWithItsCode) {
  const Outcome outcome = run(on_ranks(3) + "together");
  EXPECT_EQ(outcome.exit_code, 74);
  EXPECT_THAT(outcome.text, HasSubstr("error[E602]: disk full"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("MPI_ABORT")));
}

TEST(MpiSessionTest, AbortKeepsTheCodeWithoutMpirun) {
  EXPECT_EQ(run(SESSION_PROBE " alone").exit_code, 74);
}

TEST(MpiSessionTest, FailpointsKnowTheRank) {
  const Outcome outcome =
      run("MGPU_TESTING=1 MGPU_FAILPOINT=session.probe@1:1:EIO " + on_ranks(2) + "failpoint");
  EXPECT_EQ(outcome.text, "rank 1\n");
}

TEST(CheckLaunchTest, ASlurmTaskWithoutPmixIsRefusedBeforeMpiStarts) {
  const Outcome outcome = run("SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=16 " SESSION_PROBE " count");
  EXPECT_EQ(outcome.exit_code, 69);
  EXPECT_THAT(outcome.text,
              HasSubstr("error[E211]: this is one of 16 Slurm tasks, but MPI sees only itself"));
  EXPECT_THAT(outcome.text, HasSubstr("= help: srun --mpi=pmix"));
  EXPECT_THAT(run("SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 " SESSION_PROBE " count").text,
              HasSubstr("error[E211]: this Slurm task cannot start MPI"));
}

TEST(CheckLaunchTest, MpirunInsideASlurmStepIsFine) {
  EXPECT_EQ(run("SLURM_STEP_NUM_TASKS=4 " + on_ranks(1) + "count").exit_code, 0);
  EXPECT_EQ(run(MPIEXEC " -x SLURM_STEP_ID=0 -np 1 " SESSION_PROBE " count").exit_code, 0);
}

}  // namespace
