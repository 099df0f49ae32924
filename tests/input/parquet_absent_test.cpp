// Tests that a build without Arrow names the remedy.
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "input/parquet_rows.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::input {
namespace {

TEST(ParquetAbsentTest, NamesWhatToInstall) {
  const testing_support::TemporaryFolder folder;
  const fs::path path = folder.path() / "data.parquet";
  std::ofstream(path) << "PAR1";

  try {
    read_parquet_facts(DataFile(path));
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E535");
    EXPECT_EQ(failure.exit_code(), ExitCode::unavailable);
    EXPECT_THAT(failure.report().help, testing::HasSubstr("launch/run.sh"));
  }
}

}  // namespace
}  // namespace mgpu::input
