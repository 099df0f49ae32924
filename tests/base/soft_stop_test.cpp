#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/soft_stop.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu {
namespace {

using namespace std::chrono_literals;

class SoftStopTest : public testing::Test {
protected:
  void SetUp() override { unsetenv("SLURM_JOB_END_TIME"); }
};

TEST_F(SoftStopTest, NothingStopsByItself) {
  SoftStop stop({});
  EXPECT_EQ(stop.poll(), StopReason::none);
  EXPECT_EQ(stop.seconds_left(), std::numeric_limits<double>::infinity());
}

TEST_F(SoftStopTest, EverySignalIsHeardAndTheFirstStays) {
  const std::pair<int, StopReason> all[] = {{SIGUSR1, StopReason::usr1},
                                            {SIGUSR2, StopReason::usr2},
                                            {SIGTERM, StopReason::terminate},
                                            {SIGINT, StopReason::interrupt}};
  for (const auto& [signal, reason] : all) {
    SoftStop stop({});
    std::raise(signal);
    std::raise(SIGTERM);  // a signal that follows at once belongs to the same request
    EXPECT_EQ(stop.poll(), reason) << name_of(reason);
  }
}

TEST_F(SoftStopTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        SoftStop stop({});
        std::raise(SIGUSR1);
        std::this_thread::sleep_for(300ms);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST_F(SoftStopTest, ASignalBeforeItCountsIfMainHeardIt) {
  const StopSignals heard_by_main;
  std::raise(SIGUSR2);
  SoftStop stop({});
  EXPECT_EQ(stop.poll(), StopReason::usr2);
}

TEST_F(SoftStopTest, ABlockedSignalIsHeardOnceMainHasBegun) {
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &usr1, nullptr);  // as launch/mgpu-run starts the program
  std::raise(SIGUSR1);
  const StopSignals heard;
  EXPECT_EQ(StopSignals::received(), SIGUSR1);
}

TEST_F(SoftStopTest, NoSignalEndsAProcessThatIgnoresThem) {
  EXPECT_EXIT(
      {
        {
          const StopSignals heard;
          StopSignals::ignore();
        }
        for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT})
          std::raise(signal);
        std::_Exit(3);
      },
      testing::ExitedWithCode(3), "");
}

TEST_F(SoftStopTest, GivesTheHandlersBack) {
  { SoftStop stop({}); }
  EXPECT_EXIT(std::raise(SIGUSR2), testing::KilledBySignal(SIGUSR2), "");
}

TEST_F(SoftStopTest, TheFileStopsOnceAndIsGone) {
  const testing_support::TemporaryFolder folder;
  const fs::path file = folder.path() / "STOP";
  SoftStop::Options options;
  options.stop_file = file;
  {
    SoftStop stop(options);
    EXPECT_EQ(stop.poll(), StopReason::none);
    std::ofstream(file) << "";
    EXPECT_EQ(stop.poll(), StopReason::none) << "looks once a second";
    std::this_thread::sleep_for(1100ms);
    EXPECT_EQ(stop.poll(), StopReason::stop_file);
    EXPECT_EQ(stop.poll(), StopReason::stop_file);
  }
  EXPECT_FALSE(fs::exists(file));
  SoftStop next(options);
  EXPECT_EQ(next.poll(), StopReason::none);
}

TEST_F(SoftStopTest, TheTimeLimitLeavesRoomToSave) {
  SoftStop::Options options;
  options.time_limit_s = 1000;
  options.elapsed_s = 200;
  EXPECT_NEAR(SoftStop(options).seconds_left(), 800 - 30, 1);
  options.time_limit_s = 300;
  EXPECT_NEAR(SoftStop(options).seconds_left(), 100 - 10, 1);
  options.time_limit_s = 200;
  EXPECT_EQ(SoftStop(options).poll(), StopReason::time_limit);
}

TEST_F(SoftStopTest, SlurmsLimitIsReadToo) {
  setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 3600).c_str(), 1);
  EXPECT_NEAR(SoftStop({}).seconds_left(), 3570, 3);
  SoftStop::Options shorter;
  shorter.time_limit_s = 60;
  EXPECT_NEAR(SoftStop(shorter).seconds_left(), 54, 1);
  setenv("SLURM_JOB_END_TIME", "unknown", 1);
  EXPECT_EQ(SoftStop({}).seconds_left(), std::numeric_limits<double>::infinity());
  unsetenv("SLURM_JOB_END_TIME");
}

TEST_F(SoftStopTest, OneAtATime) {
  SoftStop stop({});
  EXPECT_THROW(SoftStop({}), Error);
  std::raise(SIGUSR1);
  EXPECT_EQ(stop.poll(), StopReason::usr1);
}

}  // namespace
}  // namespace mgpu
