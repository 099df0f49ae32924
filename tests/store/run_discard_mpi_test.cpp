// Tests that a run which did no work removes its directory.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>

#include "run_directory_case.hpp"

namespace mgpu::store {
namespace {

TEST_F(RunDirectoryTest, AFirstAttemptWithoutAChunkCanBeDiscarded) {
  fs::path folder;
  {
    RunDirectory directory(world_, request());
    folder = directory.path();
    world_.barrier();
    directory.discard();
  }
  world_.barrier();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_FALSE(fs::exists(folder.parent_path()));
  EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
}

TEST_F(RunDirectoryTest, FilesThatComeAndGoDoNotStopTheRemoval) {
  fs::path folder;
  {
    RunDirectory directory(world_, request());
    folder = directory.path();
    world_.barrier();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    std::jthread other([&] {
      const fs::path file = folder / "attempts" / ("busy." + std::to_string(world_.rank()));
      while (std::chrono::steady_clock::now() < end) {
        std::ofstream(file) << "x";
        std::error_code ignored;
        fs::rename(file, file.string() + ".renamed", ignored);
        fs::remove(file.string() + ".renamed", ignored);
      }
    });
    directory.discard();
  }
  world_.barrier();
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RunDirectoryTest, ARunWithAChunkOrASecondAttemptIsKept) {
  fs::path folder;
  {
    RunDirectory directory(world_, request());
    folder = directory.path();
    world_.barrier();
    if (world_.rank() == 0) std::ofstream(folder / "parts" / "x.ledger") << std::string(17, 'x');
    directory.discard();
  }
  world_.barrier();
  EXPECT_TRUE(fs::exists(folder));
  world_.barrier();
  if (world_.rank() == 0) fs::remove(folder / "parts" / "x.ledger");
  world_.barrier();
  {
    RunDirectory again(world_, request());
    EXPECT_EQ(again.attempt(), 2U);
    again.discard();
  }
  world_.barrier();
  EXPECT_TRUE(fs::exists(folder));
}

}  // namespace
}  // namespace mgpu::store
