// Tests that --explain has a page for each error code.
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <mgpu/app/program_errors.hpp>
#include <mgpu/base/file_io.hpp>

#include "support/project_folder.hpp"

namespace mgpu::app {
namespace {

/// Returns the error codes that sources have in quotation marks or in parentheses.
std::set<std::string> used_codes() {
  std::set<std::string> codes;
  const std::regex code(R"(["(]([EW][0-9]{3})[")])");
  for (const char* top : {"src", "include", "kernels"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(testing_support::project_folder() / top)) {
      if (!entry.is_regular_file() || entry.path().stem() == "error_pages") continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator at(text.begin(), text.end(), code), end; at != end; ++at)
        codes.insert((*at)[1]);
    }
  }
  return codes;
}

TEST(ProgramErrorsTest, EveryCodeInTheSourcesHasAPage) {
  const std::set<std::string> used = used_codes();

  EXPECT_GT(used.size(), 15U);
  for (const std::string& code : used)
    EXPECT_NE(find_error_page(program_errors(), code), nullptr) << code << " has no page";
}

TEST(ProgramErrorsTest, EveryPageIsUsed) {
  const std::set<std::string> used = used_codes();

  for (const ErrorPage& page : program_errors())
    EXPECT_TRUE(used.contains(std::string(page.code))) << page.code << " is not in the sources";
}

TEST(ProgramErrorsTest, PagesAreSortedAndComplete) {
  std::string_view before;
  for (const ErrorPage& page : program_errors()) {
    EXPECT_LT(before, page.code);
    before = page.code;
    EXPECT_FALSE(page.meaning.empty() || page.remedy.empty()) << page.code;
    std::istringstream text(error_page_text(page));
    for (std::string line; std::getline(text, line);)
      EXPECT_LE(line.size(), 80U) << line;
  }
}

}  // namespace
}  // namespace mgpu::app
