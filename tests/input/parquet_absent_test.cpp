// A build without Arrow says what to do.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

TEST(ParquetAbsentTest, NamesWhatToInstall) {
  const MadeFile made("data.parquet", "PAR1");

  try {
    open_rows(made.options);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E535");
    EXPECT_EQ(failure.exit_code(), ExitCode::unavailable);
    EXPECT_THAT(failure.report().help, testing::HasSubstr("launch/run.sh"));
  }
}

}  // namespace
}  // namespace mgpu::input
