// Writes event files and checks them with TensorBoard's own reader (tensorboard_reader_test.py).
// This is a separate program, so that ctest reports it as skipped where TensorBoard is missing.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/report/tensorboard.hpp>

namespace mgpu::report {
namespace {

TEST(TensorBoardReaderTest, ListsExactlyWhatWasWritten) {
  const std::string python = MGPU_TENSORBOARD_PYTHON;
  if (std::system((python + " -c 'import tensorboard' 2> /dev/null").c_str()) != 0)
    GTEST_SKIP() << "no Python with tensorboard: " << python;
  const fs::path folder = fs::path(testing::TempDir()) / ("tbr." + std::to_string(getpid()));
  fs::create_directories(folder);
  {
    TensorBoardFile first(folder, "host");
    first.text("config", "    job: train");
    first.layout("mgpu_spmd", standard_charts());
    first.begin_session("train_ad", {{"train.learning_rate", 3e-4},
                                     {"train.lr_schedule", std::string("cosine")},
                                     {"data.permuted", false}});
    for (std::int64_t step = 0; step < 10; ++step)
      first.scalar("train/loss", step, 1.0 / static_cast<double>(step + 1));
    first.scalar("eval/return", 9, 14.5);
    first.scalar("perf/steps_per_second", 9, 123.25);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  {
    TensorBoardFile second(folder, "later");
    second.resumed_at(6);
    for (std::int64_t step = 6; step < 8; ++step)
      second.scalar("train/loss", step, 2.0);
    second.end_session(true);
  }

  const std::string reader = std::string(MGPU_TEST_FOLDER) + "/tensorboard_reader_test.py";
  EXPECT_EQ(std::system((python + " " + reader + " " + folder.string()).c_str()), 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace mgpu::report
