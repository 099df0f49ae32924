// Tests that every rank has the same training data for a language model.
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/try_together.hpp>

#include "app/tiny_run.hpp"
#include "recipes/distill/method.hpp"
#include "recipes/grpo/keys.hpp"
#include "recipes/grpo/method.hpp"
#include "recipes/lm/data.hpp"
#include "support/made_config.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using testing_support::Keys;

constexpr std::int64_t kVocab = 528;

class LmDataTest : public testing::Test {
protected:
  static Config config_of(Keys keys) {
    keys.emplace("job", "train");
    keys.emplace("model.init", testing_support::tiny_lm());
    keys.emplace("train.seq_len", "64");
    return testing_support::config_of(keys);
  }

  LmData load(const Keys& keys) const {
    return load_lm_data(world_, read_lm_train_settings(config_of(keys)), LmMethod(), kVocab);
  }

  /// Loads the training data of a student (recipe distill).
  LmData load_distill(const Keys& keys) const {
    const Config config = config_of(keys);
    const DistillMethod method(read_distill_settings(config));
    return load_lm_data(world_, read_lm_train_settings(config, method), method, kVocab);
  }

  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text);
  }

  /// Expects that the vectors of all ranks have the same size and the same checksum.
  template <class T>
  void expect_everywhere(const std::vector<T>& mine) const {
    const auto count = static_cast<std::int64_t>(mine.size());
    EXPECT_THAT(world_.all_gather(count), Each(count));
    std::int64_t sum = 0;
    for (const T value : mine)
      sum = sum * 31 % 1'000'003 + static_cast<std::int64_t>(value);
    EXPECT_THAT(world_.all_gather(sum), Each(sum));
  }

  const cluster::Group world_ = cluster::Group::world();
  const app::test::SharedFolder folder_{world_};
};

TEST_F(LmDataTest, AllRanksHaveTheExamplesOfTheFile) {
  const std::string rows = write("rows.jsonl",
                                 "{\"text\": \"Mia was a small cat.\"}\n"
                                 "{\"prompt\": \"3 + 4 =\", \"completion\": \" 7\"}\n");
  const LmData data = load({{"data.path", rows}});

  EXPECT_THAT(data.training.ends, SizeIs(2));
  EXPECT_EQ(data.training.ids.size(), data.training.is_learned.size());
  expect_everywhere(data.training.ids);
  expect_everywhere(data.training.is_learned);
  expect_everywhere(data.training.ends);
  EXPECT_THAT(data.evaluation.ends, IsEmpty());
  EXPECT_THAT(data.stop_ids, SizeIs(Gt(0U)));
  expect_everywhere(data.stop_ids);
  EXPECT_EQ(data.method.crc, 0U);
}

TEST_F(LmDataTest, RowsToJudgeByAreApart) {
  const std::string rows = write("rows.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  const std::string judge = write("judge.jsonl", "{\"text\": \"three\"}\n");
  const LmData data = load({{"data.path", rows}, {"data.eval_path", judge}, {"data.start", "1"}});

  EXPECT_THAT(data.training.ends, SizeIs(1));
  EXPECT_THAT(data.evaluation.ends, SizeIs(1));
  expect_everywhere(data.evaluation.ids);
  EXPECT_NE(data.training.ids, data.evaluation.ids);
}

TEST_F(LmDataTest, TheProgramsOwnTextsFollowFromTheSeed) {
  const LmData data = load({{"data.little_texts", "20"}});

  EXPECT_THAT(data.training.ends, SizeIs(20));
  expect_everywhere(data.training.ids);
  for (std::size_t example = 0; example < data.training.size(); ++example)
    EXPECT_THAT(data.training.length(example), Le(64));
  EXPECT_EQ(load({{"data.little_texts", "20"}}).training.ids, data.training.ids);
  EXPECT_NE(load({{"data.little_texts", "20"}, {"run.seed", "1"}}).training.ids, data.training.ids);
}

TEST_F(LmDataTest, MarkedRowsAreCountedOnRankZero) {
  const std::string rows = write("rows.jsonl", "{\"text\": \"one\"}\nwords\n{\"text\": \"\"}\n");
  const LmData data = load({{"data.path", rows}, {"data.on_bad_row", "mark"}});

  EXPECT_THAT(data.training.ends, SizeIs(1));
  if (world_.rank() != 0) {
    EXPECT_THAT(data.left_out, IsEmpty());
    return;
  }
  ASSERT_THAT(data.left_out, SizeIs(1));
  EXPECT_EQ(data.left_out[0].rows, 2);
  EXPECT_THAT(data.left_out[0].first, HasSubstr("rows.jsonl:2: "));
}

TEST_F(LmDataTest, ARowThatCannotBeUsedEndsAllRanks) {
  const std::string rows = write(
      "rows.jsonl", "{\"prompt\": \"a\", \"completion\": \"" + std::string(400, 'b') + "\"}\n");
  try {
    load({{"data.path", rows}});
    FAIL() << "was taken";
  } catch (const cluster::CollectiveFailure& error) {
    EXPECT_EQ(error.report().code, "E531");
    EXPECT_EQ(error.first_rank(), 0);
    EXPECT_THAT(error.what(), HasSubstr("more than train.seq_len (64)"));
  }
}

TEST_F(LmDataTest, ATeacherBesideTheStudentHasANumber) {
  const std::string rows = write("rows.jsonl", "{\"text\": \"one\"}\n");
  const std::string teacher = testing_support::lm_goldens() / "llama";
  const LmData data = load_distill({{"data.path", rows}, {"distill.model", teacher}});

  EXPECT_NE(data.method.crc, 0U);
  EXPECT_THAT(world_.all_gather(data.method.crc), Each(data.method.crc));
  EXPECT_THAT(data.method.numbers, IsEmpty());
}

TEST_F(LmDataTest, TextsOfTheStudentNeedPrompts) {
  const Keys keys = {{"distill.model", (testing_support::lm_goldens() / "llama").string()},
                     {"distill.on_policy", "0.5"}};
  Keys good = keys;
  good["data.path"] = write("prompts.jsonl", "{\"prompt\": \"3 + 4 =\", \"completion\": \" 7\"}\n");
  EXPECT_THAT(load_distill(good).training.ends, SizeIs(1));
  Keys bad = keys;
  bad["data.path"] = write("texts.jsonl", "{\"text\": \"one\"}\n");
  EXPECT_THROW(load_distill(bad), cluster::CollectiveFailure);
}

TEST_F(LmDataTest, AllRanksHaveTheTextsOfPrompts) {
  const std::string rows = write("prompts.jsonl",
                                 "{\"prompt\": \"3 + 4 =\", \"answer\": 7}\n"
                                 "{\"prompt\": \"a\\nb\", \"answer\": \"\"}\n");
  const Config config = config_of(
      {{"data.path", rows}, {"reward.functions", "[match]"}, {"grpo.max_new_tokens", "8"}});
  const GrpoMethod method(read_grpo_settings(config), {testing_support::tiny_lm(), false});
  const LmData data = load_lm_data(world_, read_lm_train_settings(config, method), method, kVocab);

  EXPECT_THAT(data.training.texts.at("prompt"), ElementsAre("3 + 4 =", "a\nb"));
  EXPECT_THAT(data.training.texts.at("answer"), ElementsAre("7", ""));
  expect_everywhere(data.training.ids);
}

}  // namespace
}  // namespace mgpu::recipes
