#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/error.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

class CrashFileTest : public testing::Test {
protected:
  CrashFile::Options options(int rank = 3) const { return {directory_, rank, 8, "MPI 4.1.4"}; }

  std::string text(int rank = 3) const {
    return read_file(directory_ / ("rank_0" + std::to_string(rank) + ".txt"));
  }

  /// Writes a crash file of `rank`, as another process would have left it.
  void put(int rank, const std::string& time, const std::string& what) const {
    fs::create_directories(directory_);
    std::ofstream(directory_ / ("rank_0" + std::to_string(rank) + ".txt"))
        << "mgpu_spmd crash file 1\nhost: node02\npid: 42\nrank: " << rank
        << " of 8\ntime: " << time << "\nphase: train, step 9\n--- what\n"
        << what << "\n--- stack\n";
  }

  testing_support::TemporaryFolder folder_;
  fs::path directory_ = folder_.path() / "crash";
};

TEST_F(CrashFileTest, AGoodEndLeavesNothing) {
  {
    CrashFile crash(options());
    crash.set_phase("train, step 1");
    EXPECT_FALSE(fs::exists(crash.path()));
  }
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(CrashFileTest, AReportedFailureIsWrittenOnceAndQuickly) {
  CrashFile crash(options());
  crash.set_phase("train, step 41000");
  for (int i = 0; i < 60; ++i)
    crash.add_event("event " + std::to_string(i) + ";");

  const auto begin = std::chrono::steady_clock::now();
  crash.write("error[E602]: cannot write the checkpoint");
  const auto took = std::chrono::steady_clock::now() - begin;
  crash.write("error[E999]: a later one");

  EXPECT_LT(took, std::chrono::milliseconds(500));
  const std::string written = text();
  EXPECT_THAT(written, HasSubstr("rank: 3 of 8\n"));
  EXPECT_THAT(written, HasSubstr("pid: " + std::to_string(getpid()) + "\n"));
  EXPECT_THAT(written, HasSubstr("phase: train, step 41000\n"));
  EXPECT_THAT(written, HasSubstr("--- what\nerror[E602]: cannot write the checkpoint\n"));
  EXPECT_THAT(written, HasSubstr("--- versions\nMPI 4.1.4\n"));
  EXPECT_THAT(written, HasSubstr("event 10;\n"));
  EXPECT_THAT(written, HasSubstr("event 59;\n"));
  EXPECT_THAT(written, Not(HasSubstr("event 9;")));
  EXPECT_THAT(written, Not(HasSubstr("E999")));
  EXPECT_THAT(written, testing::ContainsRegex("--- stack\n.*crash_file_test"));
}

TEST_F(CrashFileTest, AFatalSignalIsNamedAndStillKills) {
  const std::pair<int, const char*> all[] = {{SIGSEGV, "killed by SIGSEGV"},
                                             {SIGABRT, "killed by SIGABRT"},
                                             {SIGBUS, "killed by SIGBUS"},
                                             {SIGFPE, "killed by SIGFPE"},
                                             {SIGILL, "killed by SIGILL"}};
  for (const auto& [signal, what] : all) {
    EXPECT_EXIT(
        {
          CrashFile crash(options());
          crash.set_phase("evaluate");
          std::raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_THAT(text(), HasSubstr(what));
    EXPECT_THAT(text(), HasSubstr("phase: evaluate\n"));
    EXPECT_THAT(text(), HasSubstr("--- versions\n"));
  }
}

TEST_F(CrashFileTest, AnotherThreadsCrashIsWrittenToo) {
  EXPECT_EXIT(
      {
        CrashFile crash(options());
        std::thread([] { std::raise(SIGSEGV); }).join();
      },
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_THAT(text(), HasSubstr("killed by SIGSEGV"));
}

/// Recurses deeper than any stack for a large `depth`.
int recurse(std::int64_t depth) {
  volatile int room[1024] = {};
  if (depth == 0) return room[0];
  return recurse(depth - 1) + room[7];
}

TEST_F(CrashFileTest, AnOverflowedStackIsWrittenToo) {
  EXPECT_EXIT(
      {
        CrashFile crash(options());
        recurse(std::numeric_limits<std::int64_t>::max());
      },
      testing::KilledBySignal(SIGSEGV), "");
  EXPECT_THAT(text(), HasSubstr("killed by SIGSEGV"));
}

TEST_F(CrashFileTest, AnUncaughtExceptionIsAnAbort) {
  EXPECT_EXIT(
      {
        CrashFile crash(options());
        std::thread([] { throw Error("lost"); }).join();
      },
      testing::KilledBySignal(SIGABRT), "lost");
  EXPECT_THAT(text(), HasSubstr("killed by SIGABRT"));
}

TEST_F(CrashFileTest, CarriesNoSecretAndNoControlByte) {
  CrashFile crash(options());
  crash.add_event("HF_TOKEN=hunter2hunter2 max_tokens=512 loss=0.5");
  crash.add_event("\x1b[31mred");
  crash.write("password: 'correcthorse' hf_abcdefghijklmnop");
  EXPECT_THAT(text(), HasSubstr("HF_TOKEN=*** max_tokens=512 loss=0.5"));
  EXPECT_THAT(text(), Not(HasSubstr("hunter2")));
  EXPECT_THAT(text(), Not(HasSubstr("correcthorse")));
  EXPECT_THAT(text(), Not(HasSubstr("abcdefgh")));
  EXPECT_EQ(text().find('\x1b'), std::string::npos);
}

TEST(WithoutSecretsTest, KeepsLinesAndNumbersAndCutsLongLines) {
  EXPECT_EQ(without_secrets("a\n\nb\n"), "a\n\nb\n");
  EXPECT_EQ(without_secrets("tokens: 123456789"), "tokens: 123456789");
  EXPECT_EQ(without_secrets("api_key = 'abcdefgh'"), "api_key = '***'");
  EXPECT_EQ(without_secrets(std::string(1 << 20, 'x')).size(), 4096U + 3U);
}

TEST_F(CrashFileTest, SaysWhereItCannotPrepare) {
  std::ofstream(directory_) << "a file in the way";
  try {
    CrashFile crash(options());
    FAIL() << "prepared a file in a file";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::cannot_create);
  }
  fs::remove(directory_);
  EXPECT_NO_THROW(CrashFile{options()});
}

TEST_F(CrashFileTest, OnlyReportsOfThisAttemptAreRead) {
  EXPECT_TRUE(crashes(directory_).empty());
  put(0, "1000.500000000", "error[E402]: peer lost");
  put(5, "1000.250000000", "killed by SIGSEGV");
  put(7, "900.000000000", "of an earlier attempt");
  std::ofstream(directory_ / "rank_06.txt") << "something else";
  std::ofstream(directory_ / ".rank_01.tmp") << "";

  std::vector<CrashReport> found = crashes(directory_, 1000.0);
  std::sort(found.begin(), found.end(),
            [](const CrashReport& a, const CrashReport& b) { return a.rank < b.rank; });

  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_EQ(found[1].rank, 5);
  EXPECT_EQ(found[1].host, "node02");
  EXPECT_EQ(found[1].pid, "42");
  EXPECT_EQ(found[1].phase, "train, step 9");
  EXPECT_EQ(found[1].what, "killed by SIGSEGV");
}

TEST_F(CrashFileTest, TheReaderUnderstandsTheWriter) {
  const double before = static_cast<double>(std::time(nullptr)) - 1;
  CrashFile crash(options(4));
  crash.set_phase("start");
  crash.write("error[E901]: first\n  --> second line");

  const std::vector<CrashReport> found = crashes(directory_, before);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 4);
  EXPECT_EQ(found[0].what, "error[E901]: first\n  --> second line");
  EXPECT_LT(found[0].unix_time, before + 10);
}

}  // namespace
}  // namespace mgpu
