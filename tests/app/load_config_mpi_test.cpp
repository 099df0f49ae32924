#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/app/load_config.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/config/common_keys.hpp>

namespace mgpu::app {
namespace {

using testing::HasSubstr;

/// Writes files to a folder whose name only rank 0 knows, so that other ranks cannot read them.
class LoadConfigTest : public testing::Test {
protected:
  void SetUp() override {
    add_common_keys(table_, {"train"});
    if (world_.rank() == 0) {
      folder_ = fs::path(testing::TempDir()) / ("load_config_" + std::to_string(::getpid()));
      fs::create_directories(folder_);
    }
  }
  void TearDown() override {
    if (world_.rank() == 0) fs::remove_all(folder_);
  }

  void write(const std::string& name, const std::string& text) const {
    if (world_.rank() == 0) std::ofstream(folder_ / name) << text;
  }

  /// Returns options that name a file of rank 0's folder; on other ranks they name a missing file.
  Options options(const std::string& file) const {
    const std::string folder = world_.rank() == 0 ? folder_.string() : "/no/such/folder";
    return {.config = folder + "/" + file};
  }

  /// Returns the sentence of the failure, and expects the exit code `exit`; "" if nothing failed.
  /// Ranks: collective.
  std::string failure_of(const Options& given, ExitCode exit) {
    try {
      (void)load_config(given, table_, cluster::shared_files(world_));
      return "";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.exit_code(), exit);
      return failure.report().sentence;
    }
  }

  cluster::Group world_ = cluster::Group::world();
  KeyTable table_;
  fs::path folder_;
};

TEST_F(LoadConfigTest, EveryRankGetsTheFileThatRankZeroReads) {
  write("a.yaml", "schema: 1\njob: train\ninclude: b.yaml\nrun: {seed: 5}\n");
  write("b.yaml", "run: {chunk_size: 8}\n");

  const Config config = load_config(options("a.yaml"), table_, cluster::shared_files(world_));

  EXPECT_EQ(config.integer("run.seed"), 5);
  EXPECT_EQ(config.integer("run.chunk_size"), 8);
}

TEST_F(LoadConfigTest, EveryRankGetsTheVariablesOfRankZero) {
  ::setenv("MGPU_TEST_SEEDS", world_.rank() == 0 ? "seeds" : "", 1);
  write("a.yaml", "schema: 1\njob: train\ninclude: $MGPU_TEST_SEEDS.yaml\n");
  write("seeds.yaml", "run: {seed: 7}\n");

  EXPECT_EQ(
      load_config(options("a.yaml"), table_, cluster::shared_files(world_)).integer("run.seed"), 7);
}

TEST_F(LoadConfigTest, EveryRankFailsAlike) {
  write("wrong.yaml", "schema: 1\njob: train\nrun: {sede: 5}\n");

  EXPECT_EQ(failure_of(options("wrong.yaml"), ExitCode::config), "unknown key `run.sede`");
  EXPECT_THAT(failure_of(options("missing.yaml"), ExitCode::no_input),
              HasSubstr("No such file or directory"));
  EXPECT_THAT(failure_of(options(""), ExitCode::no_input), HasSubstr("Is a directory"));
}

TEST_F(LoadConfigTest, LargeFilesAreRefusedByTheReader) {
  write("large.yaml", std::string(3U << 20, '#'));

  EXPECT_EQ(failure_of(options("large.yaml"), ExitCode::config), "the file is larger than 1 MiB");
}

TEST_F(LoadConfigTest, WorkingDirectoryIsThatOfRankZero) {
  const FileProvider files = cluster::shared_files(world_);

  EXPECT_EQ(files.working_directory(), fs::path(world_.broadcast(fs::current_path(), 0)));
}

}  // namespace
}  // namespace mgpu::app
