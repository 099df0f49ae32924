#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

#include "classifier_writer.hpp"
#include "golden_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using formats::JsonValue;

TrainableModel open(const fs::path& folder, Classified what, std::uint64_t seed) {
  const LmConfig config = read_lm_config(folder);
  TrainableModel model(config, Device{}, seed, {.head = classifier_head(config, what, 3)});
  model.load(formats::WeightFiles(folder));
  return model;
}

/// `family` is a folder of tests/lm/goldens with a tied vocabulary head.
class ClassifierFolderTest
    : public testing::TestWithParam<std::tuple<const char*, Classified, const char*>> {};

TEST_P(ClassifierFolderTest, IsAFolderOfTheSameModelWithItsHead) {
  const auto& [family, what, architecture] = GetParam();
  const fs::path source = testing_support::lm_goldens() / family;
  const testing_support::TemporaryFolder folder;
  const LmConfig config = read_lm_config(source);
  TrainableModel model(config, Device{}, 7, {.head = classifier_head(config, what, 3)});
  const std::vector<std::int64_t> ids = {1, 5, 9, 2};
  const LmBatch batch{{{ids}}, {5, 9, 2, 1}};
  const ValueRequest request{.log_probs = false, .head_rows = HeadRows::learned};

  write_folder(model, classifier_files(source, what, 3), folder.path());

  const TrainableModel again = open(folder.path(), what, 8);
  const std::vector<double> values = model.measure(batch, request).head;
  ASSERT_EQ(values.size(), 12U);
  EXPECT_EQ(again.measure(batch, request).head, values);
  const JsonValue written = formats::read_json_object(folder.path() / "config.json", 1 << 20);
  EXPECT_EQ(*written.find("architectures")->list()->front().text(), architecture);
  EXPECT_EQ(*written.find("id2label")->find("2")->text(), "LABEL_2");
  EXPECT_EQ(*written.find("label2id")->find("LABEL_1")->integer(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Families, ClassifierFolderTest,
    testing::Values(std::tuple("llama", Classified::sequences, "LlamaForSequenceClassification"),
                    std::tuple("qwen3_switches", Classified::tokens, "Qwen3ForTokenClassification"),
                    std::tuple("gpt2", Classified::tokens, "GPT2ForTokenClassification"),
                    std::tuple("gpt2", Classified::sequences, "GPT2ForSequenceClassification")));

/// Writes config.json of a folder of tests/lm/goldens without the member `architectures`.
void write_without_architectures(const char* family, const fs::path& folder) {
  const fs::path source = testing_support::lm_goldens() / family / "config.json";
  const JsonValue config = formats::read_json_object(source, 1 << 20);
  JsonValue::Members members;
  for (const auto& [name, value] : *config.members())
    if (name != "architectures") members.emplace_back(name, value);
  std::ofstream(folder / "config.json") << formats::to_json(JsonValue(std::move(members)));
}

TEST(ClassifierFilesTest, TheFamilyNamesTheArchitectureIfTheFolderDoesNot) {
  for (const auto& [family, architecture] : {std::pair("gpt2", "GPT2ForTokenClassification"),
                                             std::pair("gpt_oss", "GptOssForTokenClassification"),
                                             std::pair("qwen3", "Qwen3ForTokenClassification")}) {
    const testing_support::TemporaryFolder folder;
    write_without_architectures(family, folder.path());

    const CompanionFiles files = classifier_files(folder.path(), Classified::tokens, 1);
    std::ofstream(folder.path() / "config.json") << files.at("config.json");

    EXPECT_EQ(read_step_head(folder.path()).outputs, 1);
    const JsonValue written = formats::read_json_object(folder.path() / "config.json", 1 << 20);
    EXPECT_EQ(*written.find("architectures")->list()->front().text(), architecture);
  }
}

TEST(ClassifierFilesTest, AFolderOfABaseModelKeepsTheNameOfItsFamily) {
  const testing_support::TemporaryFolder folder;
  std::ofstream(folder.path() / "config.json")
      << R"({"architectures": ["LlamaModel"], "model_type": "llama"})";

  const CompanionFiles files = classifier_files(folder.path(), Classified::sequences, 1);

  const JsonValue written = formats::parse_json_object("config.json", files.at("config.json"));
  EXPECT_EQ(*written.find("architectures")->list()->front().text(),
            "LlamaForSequenceClassification");
}

TEST(ModelHeadTest, AFolderWithoutTheHeadLeavesItAsTheSeedMadeIt) {
  const fs::path source = testing_support::lm_goldens() / "llama";
  const TrainingOptions options{.head = ModelHead{.outputs = 2, .has_bias = true}};
  const TrainableModel fresh(read_lm_config(source), Device{}, 3, options);
  TrainableModel loaded(read_lm_config(source), Device{}, 3, options);
  const TrainableModel other(read_lm_config(source), Device{}, 4, options);

  loaded.load(formats::WeightFiles(source));

  const auto head_of = [](const TrainableModel& model) {
    return model.parameters().parameter("score.weight").detach();
  };
  EXPECT_TRUE(head_of(loaded).equal(head_of(fresh)));
  EXPECT_FALSE(head_of(other).equal(head_of(fresh)));
  EXPECT_NEAR(head_of(fresh).std().item<double>(), 0.02, 0.005);
  EXPECT_EQ(loaded.parameters().parameter("score.bias").count_nonzero().item<std::int64_t>(), 0);
}

TEST(ModelHeadTest, AHeadOfOtherSizesThanTheFolderHasIsRefused) {
  const fs::path source = testing_support::lm_goldens() / "llama";
  const testing_support::TemporaryFolder folder;
  const LmConfig config = read_lm_config(source);
  const TrainableModel model(config, Device{}, 7,
                             {.head = classifier_head(config, Classified::sequences, 2)});
  write_folder(model, classifier_files(source, Classified::sequences, 2), folder.path());

  EXPECT_THROW(open(folder.path(), Classified::sequences, 0), Failure);
}

}  // namespace
}  // namespace mgpu::lm
