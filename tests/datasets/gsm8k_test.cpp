#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

#include "made_dataset.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::datasets {
namespace {

namespace fs = std::filesystem;

Values keys_of(const fs::path& folder, const std::string& validation) {
  return {{"data.dataset", "gsm8k"},
          {"data.gsm8k.path", folder.string()},
          {"data.gsm8k.validation_rows", validation}};
}

std::string line(const std::string& question, const std::string& answer) {
  return R"({"question": ")" + question + R"(", "answer": ")" + answer + "\"}\n";
}

class Gsm8kTest : public testing::Test {
protected:
  void write(const std::string& train, const std::string& test) const {
    std::ofstream(folder_.path() / "train.jsonl") << train;
    std::ofstream(folder_.path() / "test.jsonl") << test;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(Gsm8kTest, SplitsComeFromTheFilesOfTheFolder) {
  write(line("one?", "It is <<1=1>>1.\\n#### 1") + line("two?", "#### 2") +
            line("three?", "a\\nb\\n#### 3"),
        line("many?", "All.\\n#### 1,024"));
  const DatasetRows rows = made(keys_of(folder_.path(), "1"));
  EXPECT_EQ(rows.dataset->rows(Split::train), 2);
  EXPECT_EQ(rows.dataset->rows(Split::validation), 1);
  EXPECT_EQ(rows.dataset->rows(Split::test), 1);
  const auto first = formats::parse_json_object(rows.dataset->row(Split::train, 0));
  EXPECT_EQ(first.get<std::string>("prompt"),
            "Problem:\none?\n\nWrite the final answer in \\boxed{}.\n\nSolution:\n");
  EXPECT_EQ(first.get<std::string>("completion"), "It is <<1=1>>1.\nThe answer is \\boxed{1}.");
  const auto third = formats::parse_json_object(rows.dataset->row(Split::validation, 0));
  EXPECT_EQ(third.get<std::string>("answer"), "3");
  EXPECT_EQ(rows.dataset->score(Split::test, 0, {"so $1024.00$ in all", {}}), 1.0);
  EXPECT_EQ(rows.dataset->score(Split::test, 0, {"so 1023", {}}), 0.0);
}

#if MGPU_PARQUET
TEST(Gsm8kParquetTest, TheFilesOfTheHubHaveTheSameRows) {
  const DatasetRows rows = made(keys_of(MGPU_GSM8K_PARQUET, "1"));
  EXPECT_EQ(rows.dataset->rows(Split::train), 2);
  EXPECT_EQ(rows.dataset->rows(Split::test), 1);
  const auto first = formats::parse_json_object(rows.dataset->row(Split::train, 0));
  EXPECT_EQ(first.get<std::string>("completion"), "It is <<1=1>>1.\nThe answer is \\boxed{1}.");
  EXPECT_EQ(rows.dataset->score(Split::test, 0, {"so $1024$, not 7", {}}), 1.0);
  const ErrorReport report = failure_of(keys_of(MGPU_GSM8K_PARQUET, "3"));
  EXPECT_EQ(report.code, "E124");
  EXPECT_NE(report.sentence.find("train-00000-of-00001.parquet has 3 rows"), std::string::npos);
}
#endif

TEST_F(Gsm8kTest, BadFilesAreRefused) {
  EXPECT_EQ(failure_of(keys_of(folder_.path(), "1")).code, "E603");
  write(line("one?", "#### 1") + line("two?", "no mark"), line("many?", "#### 4"));
  const ErrorReport unmarked = failure_of(keys_of(folder_.path(), "1"));
  EXPECT_EQ(unmarked.code, "E531");
  ASSERT_FALSE(unmarked.lines.empty());
  EXPECT_NE(unmarked.lines[0].find("train.jsonl:2"), std::string::npos) << unmarked.lines[0];
  write(line("one?", "#### 1") + line("two?", "nothing follows\\n#### "), line("many?", "#### 4"));
  EXPECT_EQ(failure_of(keys_of(folder_.path(), "1")).code, "E531");
  write(line("one?", "#### 1") + line("two?", "#### 2"), line("two?", "#### 2"));
  const ErrorReport shared = failure_of(keys_of(folder_.path(), "1"));
  EXPECT_EQ(shared.code, "E531");
  EXPECT_NE(shared.lines[0].find("test.jsonl:1"), std::string::npos) << shared.lines[0];
  write(line("one?", "#### 1") + line("two?", "#### 2"), line("many?", "#### 4"));
  EXPECT_EQ(failure_of(keys_of(folder_.path(), "2")).code, "E124");
  EXPECT_EQ(failure_of(keys_of(folder_.path(), "1")).code, "");
}

}  // namespace
}  // namespace mgpu::datasets
