// Tests that every file NN_name.yaml of config_errors/ is refused with exactly the text of
// NN_name.expected. A first line "# arguments: a.b=c d=e" adds overrides. With MGPU_REGENERATE=1
// the test writes new expected texts.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/config_reader.hpp>

#include "config_test_table.hpp"
#include "support/project_folder.hpp"

namespace mgpu {
namespace {

const fs::path kFolder = testing_support::project_folder() / "tests/config/config_errors";

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<Override> overrides_of(const std::string& text) {
  constexpr std::string_view kMarker = "# arguments: ";
  std::vector<Override> overrides;
  if (!text.starts_with(kMarker)) return overrides;
  std::istringstream words(text.substr(kMarker.size(), text.find('\n') - kMarker.size()));
  int number = 2;  // the file is argument 1
  for (std::string word; words >> word; ++number) {
    const std::size_t equals = word.find('=');
    overrides.push_back({word.substr(0, equals), word.substr(equals + 1),
                         "command line, argument " + std::to_string(number), word,
                         static_cast<int>(equals) + 2});
  }
  return overrides;
}

std::string message_of(const fs::path& file) {
  const KeyTable table = config_test_table();
  ConfigSources sources;
  sources.file = file.filename().string();
  sources.overrides = overrides_of(read_file(file));
  sources.working_directory = kFolder;
  sources.read = [](const fs::path& path) { return read_file(path); };
  try {
    (void)read_config(table, sources);
    return "";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::config);
    return render(failure.report()) + "\n";
  }
}

class ConfigErrorsTest : public testing::TestWithParam<fs::path> {};

TEST_P(ConfigErrorsTest, SaysWhatIsExpected) {
  const std::string message = message_of(GetParam());
  fs::path expected_file = GetParam();
  expected_file.replace_extension(".expected");

  ASSERT_NE(message, "") << "nothing is wrong with this file";
  if (std::getenv("MGPU_REGENERATE") != nullptr) {
    std::ofstream(expected_file) << message;
    GTEST_SKIP() << "wrote " << expected_file;
  }
  EXPECT_EQ(message, read_file(expected_file));
}

INSTANTIATE_TEST_SUITE_P(Files, ConfigErrorsTest, testing::ValuesIn(case_files()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(ConfigErrorsFolderTest, HasAllCases) {
  EXPECT_GE(case_files().size(), 40U);
}

}  // namespace
}  // namespace mgpu
