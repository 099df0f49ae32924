#include "jobs/classify/run_speeds.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "jobs/teacher/plots.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

const SpeedKind kKind{4000000000U, "node", "cpu"};

class RunSpeedsTest : public testing::Test {
protected:
  RunSpeedsTest()
      : folder_(fs::temp_directory_path() / ("run_speeds_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "20261122-3");
  }
  ~RunSpeedsTest() override { fs::remove_all(folder_); }
  RunSpeedsTest(const RunSpeedsTest&) = delete;
  RunSpeedsTest& operator=(const RunSpeedsTest&) = delete;

  void write(const std::string& run, const std::string& text) const {
    fs::create_directories(folder_ / run);
    std::ofstream(folder_ / run / "summary.json") << text;
  }
  /// Writes a summary of a run with one rank.
  void write(const std::string& run, int batch, const std::string& speed,
             const std::string& host = "node", const std::string& key = "4000000000.0") const {
    write(run, R"({"job": "classify", "host": ")" + host + R"(", "device": "cpu", "series": {)" +
                   R"("speed/run_key": [)" + key + R"(], "speed/ranks": [1.0],)" +
                   R"("speed/ranks_of_copy": [1.0], "speed/batch": [)" + std::to_string(batch) +
                   R"(], "speed/samples_per_second": [)" + speed + "]}}");
  }
  /// Returns "BATCH:SPEED" for each run that is found.
  std::vector<std::string> found() const {
    std::vector<std::string> texts;
    for (const auto& run : speeds_of_other_runs(folder_ / "20261122-3", kKind))
      texts.push_back(std::to_string(run.batch) + ":" +
                      std::to_string(static_cast<int>(run.samples_per_second)));
    return texts;
  }

  fs::path folder_;
};

TEST_F(RunSpeedsTest, TheNewestOfEachBatchIsTaken) {
  write("20261122-1", 4, "100.0");
  write("20261122-2", 4, "200.5");
  write("20261121-9", 16, "300");
  EXPECT_THAT(found(), ElementsAre("4:200", "16:300"));
}

TEST_F(RunSpeedsTest, OtherHostsKeysAndThisRunAreLeftOut) {
  write("20261122-1", 1, "100.0", "elsewhere");
  write("20261122-2", 2, "100.0", "node", "4000000001.0");
  write("20261122-3", 3, "100.0");
  EXPECT_THAT(found(), ElementsAre());
}

TEST_F(RunSpeedsTest, WhatIsNoSummaryIsNoRun) {
  write("20261122-1", "{");
  write("20261122-2", "{}");
  write("20261122-4", R"({"job": "classify", "host": "node", "device": "cpu", "series": 7})");
  write("20261122-5", 4, "null");
  write("20261122-6", -4, "10.0");
  write("20261122-7", 4, "0.0");
  write("20261122-8", 8, "10.0");
  fs::create_directory_symlink(folder_ / "20261122-8", folder_ / "latest");
  EXPECT_THAT(found(), ElementsAre("8:10"));
}

TEST_F(RunSpeedsTest, AFolderThatIsGoneHasNoRuns) {
  fs::remove_all(folder_);
  EXPECT_THAT(found(), ElementsAre());
}

TEST(ShownKsTest, GoUpByHalvesToAllThatAreKept) {
  EXPECT_THAT(shown_ks(1), ElementsAre(1));
  EXPECT_THAT(shown_ks(2), ElementsAre(1, 2));
  EXPECT_THAT(shown_ks(8), ElementsAre(1, 2, 3, 4, 6, 8));
  EXPECT_THAT(shown_ks(50), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 50));
}

}  // namespace
}  // namespace mgpu::jobs
