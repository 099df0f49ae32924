// Tests the published files of GSM8K. They are not in the repository, but may be in the folder
// MGPU_TEST_DATA, or in ../shared/data next to the repository.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

#include "made_dataset.hpp"

namespace mgpu::datasets {
namespace {

namespace fs = std::filesystem;

TEST(RealGsm8kTest, EverySolutionIsRight) {
  const char* data = std::getenv("MGPU_TEST_DATA");
  const fs::path folder =
      fs::path(data != nullptr ? data : MGPU_SOURCE_DIR "/../shared/data") / "gsm8k";
  if (!fs::exists(folder / "train.jsonl")) GTEST_SKIP() << folder << " is not here";
  const DatasetRows rows = made({{"data.dataset", "gsm8k"}, {"data.gsm8k.path", folder.string()}});
  EXPECT_EQ(rows.dataset->rows(Split::train), 6973);
  EXPECT_EQ(rows.dataset->rows(Split::validation), 500);
  EXPECT_EQ(rows.dataset->rows(Split::test), 1319);
  for (const Split split : {Split::train, Split::validation, Split::test})
    for (std::int64_t i = 0; i < rows.dataset->rows(split); ++i) {
      const auto row = formats::parse_json_object(rows.dataset->row(split, i));
      const std::string completion = row.get<std::string>("completion");
      EXPECT_EQ(rows.dataset->score(split, i, {completion, {}}), 1.0) << completion;
      EXPECT_EQ(
          rows.dataset->score(split, i, {"\\boxed{1" + row.get<std::string>("answer") + "}", {}}),
          0.0);
    }
}

}  // namespace
}  // namespace mgpu::datasets
