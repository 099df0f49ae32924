#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace mgpu::testing_support {

/// Adds the tests of other files to the negative part of the filter. A program x_test then runs the
/// tests of x_test.cpp only, although CMake compiles several files of a folder together. A program
/// without a file of its name runs all of its tests. Call it after InitGoogleTest().
inline void leave_out_tests_of_other_files(const char* program) {
  const std::filesystem::path own = std::filesystem::path(program).filename();
  std::string others;
  bool any = false;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (std::filesystem::path(test.file()).stem() == own) {
        any = true;
      } else {
        others += std::string(":") + test.test_suite_name() + "." + test.name();
      }
    }
  }
  if (!any || others.empty()) return;
  std::string filter = GTEST_FLAG_GET(filter);
  if (filter.find('-') == std::string::npos) filter += "-";
  GTEST_FLAG_SET(filter, filter + others);
}

}  // namespace mgpu::testing_support
