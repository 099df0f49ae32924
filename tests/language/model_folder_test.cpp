#include <filesystem>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/language/model_folder.hpp>
#include <mgpu/language/trainable_model.hpp>
#include <mgpu/store/json_value.hpp>

#include "golden_folder.hpp"
#include "logits_of.hpp"

namespace mgpu::language {
namespace {

/// tests/oracle/written_folders.py opens what is written here with transformers.
fs::path written(const std::string& name) {
  return fs::path(MGPU_WRITTEN) / name;
}

class ModelFolderTest : public testing::TestWithParam<const char*> {};

TEST_P(ModelFolderTest, AWrittenFolderIsTheSameModel) {
  const fs::path source = fs::path(MGPU_GOLDENS) / GetParam();
  const fs::path target = written(GetParam());
  fs::remove_all(target);
  TrainableModel model(read_lm_config(source), Device{}, 0);
  model.load(store::WeightFiles(source));

  write_model_folder(target, model.parameters(), companion_files(source));

  LmConfig expected = read_lm_config(source);
  expected.stored_type = "float32";
  EXPECT_EQ(read_lm_config(target), expected);
  const LanguageModel before = LanguageModel::open(source);
  const LanguageModel after = LanguageModel::open(target);
  for (const Golden& golden : read_goldens(source)) {
    const TokenRun run{golden.ids};
    EXPECT_TRUE(logits_of(after, after.hidden({&run, 1}))
                    .equal(logits_of(before, before.hidden({&run, 1}))));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, ModelFolderTest,
                         testing::Values("gpt2", "gpt2_switches", "llama", "llama_biases",
                                         "llama_llama3_v4", "llama_yarn_switches", "mistral",
                                         "qwen2", "qwen2_window", "qwen3_switches"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(ModelFolderTest, AFolderIsNotWrittenOver) {
  const fs::path source = fs::path(MGPU_GOLDENS) / "llama";
  const fs::path target = written("taken");
  fs::create_directories(target);
  const TrainableModel model(read_lm_config(source), Device{}, 0);

  EXPECT_THROW(write_model_folder(target, model.parameters(), {}), Failure);

  EXPECT_TRUE(fs::is_empty(target));
}

TEST(ModelFolderTest, OtherFieldsOfTheConfigStayInTheirOrder) {
  const fs::path folder = written("fields");
  fs::create_directories(folder);
  write_file_durably(folder / "config.json",
                     R"({"zeta": [1, 2.5, null], "torch_dtype": "bfloat16", "a": {"b": true}})",
                     "model");

  EXPECT_EQ(companion_files(folder).at("config.json"), R"({
  "zeta": [
    1,
    2.5,
    null
  ],
  "a": {
    "b": true
  },
  "dtype": "float32"
}
)");
}

}  // namespace
}  // namespace mgpu::language
