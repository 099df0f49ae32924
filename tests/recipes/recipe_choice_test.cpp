// Tests which recipe a configuration selects, and the keys of recipes for language models.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/recipes/recipe.hpp>

#include "recipes/distill/keys.hpp"
#include "recipes/distill/method.hpp"
#include "recipes/lm/keys.hpp"
#include "support/made_config.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

Config train(Keys keys = {}) {
  keys.emplace("job", "train");
  return config_of(keys);
}

/// Returns the code of the failure of `read`; "" if it does not fail.
template <class Read>
std::string code_of(const Keys& keys, Read read) {
  const Config config = train(keys);
  return report_of_failure([&] { read(config); }).code;
}

TEST(RecipeChoiceTest, TheRegistryHasTheRecipesInTheirOrder) {
  std::vector<std::string> names;
  for (const RecipeSpec& recipe : recipes())
    names.emplace_back(recipe.name);
  std::erase_if(names, [](const std::string& name) {
    // Other recipes may come between them.
    return name != "ad" && name != "sft" && name != "distill" && name != "dpo" && name != "grpo";
  });
  EXPECT_THAT(names, ElementsAre("ad", "sft", "distill", "dpo", "grpo"));
}

TEST(RecipeChoiceTest, AutoGoesByTheKeysThatAreThere) {
  EXPECT_EQ(recipe_of(train()).name, "ad");
  EXPECT_EQ(recipe_of(train({{"model.path", "m"}})).name, "sft");
  EXPECT_EQ(recipe_of(train({{"model.init", "m"}})).name, "sft");
  EXPECT_EQ(recipe_of(train({{"model.path", "m"}, {"distill.model", "t"}})).name, "distill");
  EXPECT_EQ(recipe_of(train({{"distill.model", "t"}})).name, "ad");  // no student
  EXPECT_EQ(recipe_of(train({{"model.path", "m"}, {"dpo.beta", "0.2"}})).name, "dpo");
  EXPECT_EQ(recipe_of(train({{"model.path", "m"}, {"grpo.beta", "0.2"}})).name, "grpo");
}

TEST(RecipeChoiceTest, ANameCountsBeforeTheKeys) {
  EXPECT_EQ(recipe_of(train({{"train.recipe", "ad"}, {"model.path", "m"}})).name, "ad");
  EXPECT_EQ(
      recipe_of(train({{"train.recipe", "sft"}, {"model.path", "m"}, {"distill.model", "t"}})).name,
      "sft");
}

TEST(RecipeChoiceTest, ANamedRecipeNeedsItsKeys) {
  EXPECT_EQ(code_of({{"train.recipe", "sft"}, {"model.path", "m"}}, check_recipe), "");
  const Config lacking = train({{"train.recipe", "distill"}, {"model.path", "m"}});
  const ErrorReport report = report_of_failure([&] { check_recipe(lacking); });
  EXPECT_EQ(report.code, "E114");
  EXPECT_EQ(report.exit, ExitCode::config);
  EXPECT_EQ(report.sentence, "recipe distill lacks the keys that it needs");
  EXPECT_THAT(report.help, HasSubstr("distill.targets=FOLDER"));
  EXPECT_EQ(code_of({{"train.recipe", "sft"}}, check_recipe), "E114");
}

TEST(RecipeChoiceTest, KeysOfOtherRecipesAreRefused) {
  const auto refused = [](const Keys& keys) {
    const Config config = train(keys);
    return report_of_failure([&] { refuse_keys_of_other_recipes(config, recipe_of(config)); });
  };
  EXPECT_EQ(refused({{"evaluate.runs", "3"}}).code, "");
  EXPECT_EQ(refused({{"train.max_steps", "3"}, {"model.path", "m"}}).code,
            "");  // all recipes read this key
  const ErrorReport episodes = refused({{"evaluate.runs", "3"}, {"model.path", "m"}});
  EXPECT_EQ(episodes.code, "E124");
  EXPECT_EQ(episodes.help, "remove it");
  const ErrorReport length = refused({{"train.seq_len", "32"}});
  EXPECT_EQ(length.code, "E124");
  EXPECT_THAT(length.sentence, HasSubstr("`train.seq_len` has no meaning for Algorithm"));
  EXPECT_THAT(length.help, HasSubstr("model.path=FOLDER"));
}

TEST(RecipeChoiceTest, KeysThatRecipesShareAreAddedOnce) {
  KeyTable table;
  for (const AddKeys add_keys : recipe_keys())
    EXPECT_NO_THROW(add_keys(table));  // a duplicate name is an Error
  EXPECT_NE(table.find("distill.loss"), nullptr);
  EXPECT_NE(table.find("evaluate.runs"), nullptr);
}

std::string distill_rule(Keys keys) {
  keys.emplace("model.path", "m");
  return code_of(keys, check_distill_keys);
}

TEST(DistillKeysTest, WithoutATeacherNoKeyMeansAnything) {
  EXPECT_EQ(distill_rule({}), "");
  EXPECT_EQ(distill_rule({{"distill.loss", "jsd"}}), "E124");
  EXPECT_EQ(distill_rule({{"distill.top_p", "0.5"}}), "E124");
}

TEST(DistillKeysTest, ThereIsOneTeacher) {
  EXPECT_EQ(distill_rule({{"distill.targets", "t"}}), "");
  EXPECT_EQ(distill_rule({{"distill.model", "t"}}), "");
  EXPECT_EQ(distill_rule({{"distill.model", "t"}, {"distill.targets", "t"}}), "E124");
}

TEST(DistillKeysTest, AKeyThatTheLossDoesNotReadIsRefused) {
  const std::vector<std::pair<Keys, std::string>> cases = {
      {{{"distill.model", "t"}, {"distill.beta", "0.3"}}, "E124"},
      {{{"distill.model", "t"}, {"distill.beta", "0.3"}, {"distill.loss", "jsd"}}, ""},
      {{{"distill.model", "t"}, {"distill.tail", "renormalize"}}, "E124"},
      {{{"distill.targets", "t"}, {"distill.tail", "renormalize"}}, ""},
      {{{"distill.targets", "t"}, {"distill.tail", "renormalize"}, {"distill.loss", "reverse_kl"}},
       "E124"},
      {{{"distill.targets", "t"}, {"data.path", "d"}}, "E124"},
      {{{"distill.targets", "t"}, {"data.little_texts", "5"}}, "E124"}};
  for (const auto& [keys, code] : cases)
    EXPECT_EQ(distill_rule(keys), code) << keys.rbegin()->first;
}

TEST(DistillKeysTest, TextsOfTheStudentNeedATeacherThatIsThere) {
  const Keys drawing = {{"distill.on_policy", "0.5"}, {"data.path", "d"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    Keys keys = drawing;
    keys.emplace("distill.model", "t");
    keys[name] = value;
    return distill_rule(keys);
  };
  EXPECT_EQ(with("distill.top_p", "0.5"), "");
  EXPECT_EQ(with("distill.on_policy", "0.0"), "");
  EXPECT_EQ(with("data.little_texts", "5"), "E124");
  EXPECT_EQ(with("distill.ce_weight", "1.0"), "E124");
  EXPECT_EQ(distill_rule({{"distill.on_policy", "0.5"}, {"distill.targets", "t"}}), "E124");
  EXPECT_EQ(distill_rule({{"distill.model", "t"}, {"distill.top_p", "0.5"}}), "E124");
}

TEST(DistillKeysTest, AreWhatTheStudentLearnsFrom) {
  const auto settings = read_distill_settings(train({{"model.path", "m"},
                                                     {"distill.model", "t"},
                                                     {"distill.loss", "jsd"},
                                                     {"distill.beta", "0.25"},
                                                     {"distill.ce_weight", "0.1"},
                                                     {"distill.temperature", "2"},
                                                     {"distill.on_policy", "0.5"},
                                                     {"distill.max_new_tokens", "7"},
                                                     {"distill.sampling_temperature", "0.9"}}));
  EXPECT_EQ(settings.model.filename(), "t");
  EXPECT_TRUE(settings.targets.empty());
  EXPECT_EQ(settings.how.divergence, lm::Divergence::jsd);
  EXPECT_EQ(settings.how.beta, 0.25);
  EXPECT_EQ(settings.how.ce_weight, 0.1);
  EXPECT_EQ(settings.how.temperature, 2.0);
  EXPECT_EQ(settings.completion_room(), 7);
  EXPECT_EQ(settings.drawing.sampling.temperature, 0.9);
  EXPECT_FALSE(settings.drawing.sampling.is_greedy);
}

TEST(DistillKeysTest, ARunDirectoryStandsForItsResults) {
  const auto targets = [](const std::string& path) {
    return read_distill_settings(train({{"model.path", "m"}, {"distill.targets", path}})).targets;
  };
  EXPECT_EQ(targets("/tmp"), "/tmp/results.h5");
  EXPECT_EQ(targets("/tmp/mine.h5"), "/tmp/mine.h5");
}

std::string lm_rule(Keys keys) {
  keys.emplace("model.path", "m");
  return code_of(keys, [](const Config& config) { read_lm_train_settings(config); });
}

/// Returns the code of the failure of a configuration of recipe distill; "" if it is valid.
std::string student_rule(Keys keys) {
  keys.emplace("model.path", "m");
  return code_of(keys, [](const Config& config) {
    read_lm_train_settings(config, DistillMethod(read_distill_settings(config)));
  });
}

TEST(LmKeysTest, ThereIsOneBeginningAndOneSource) {
  EXPECT_EQ(lm_rule({{"data.path", "d"}}), "");
  EXPECT_EQ(lm_rule({}), "E107");
  EXPECT_EQ(lm_rule({{"data.little_texts", "5"}}), "");
  EXPECT_EQ(lm_rule({{"data.path", "d"}, {"data.little_texts", "5"}}), "E124");
  EXPECT_EQ(lm_rule({{"data.path", "d"}, {"model.init", "m"}}), "E124");
  EXPECT_EQ(student_rule({{"distill.targets", "t"}}), "");
  EXPECT_EQ(student_rule({{"distill.model", "t"}}), "E107");
}

TEST(LmKeysTest, KeysOfRowsNeedAFile) {
  EXPECT_EQ(student_rule({{"distill.targets", "t"}, {"data.start", "1"}}), "E124");
  // data.start also selects rows of a data set.
  EXPECT_EQ(lm_rule({{"data.little_texts", "5"}, {"data.start", "1"}}), "");
  EXPECT_EQ(lm_rule({{"data.split", "test"}, {"data.path", "d"}}), "E124");
  EXPECT_EQ(lm_rule({{"data.little_texts", "5"}, {"data.columns.text", "t"}}), "E124");
  // Format keys also apply to data.eval_path; keys that select rows apply to data.path only.
  EXPECT_EQ(lm_rule({{"data.little_texts", "5"}, {"data.eval_path", "e"}, {"data.format", "csv"}}),
            "");
  EXPECT_EQ(student_rule({{"distill.targets", "t"}, {"data.eval_path", "e"}, {"data.start", "1"}}),
            "E124");
}

TEST(LmKeysTest, RowsToJudgeByAreAllRowsOfTheirFile) {
  const LmTrainSettings settings = read_lm_train_settings(train({{"model.init", "m"},
                                                                 {"data.path", "d"},
                                                                 {"data.eval_path", "e"},
                                                                 {"data.start", "3"},
                                                                 {"data.max_samples", "4"},
                                                                 {"train.seq_len", "32"}}));
  EXPECT_TRUE(settings.is_fresh);
  EXPECT_EQ(settings.folder.filename(), "m");
  EXPECT_EQ(settings.seq_len, 32);
  ASSERT_TRUE(settings.rows && settings.eval_rows);
  EXPECT_EQ(settings.rows->start, 3);
  EXPECT_EQ(settings.rows->max_samples, 4);
  EXPECT_EQ(settings.eval_rows->path.filename(), "e");
  EXPECT_EQ(settings.eval_rows->start, 0);
  EXPECT_FALSE(settings.eval_rows->max_samples.has_value());
  EXPECT_THAT(settings.loop.evaluation_values, testing::ElementsAre("loss", "accuracy"));
  EXPECT_TRUE(settings.loop.evaluates_last_step);
}

TEST(LmKeysTest, WithoutRowsToJudgeByNothingIsEvaluated) {
  const auto settings = read_lm_train_settings(train({{"model.path", "m"}, {"data.path", "d"}}));
  EXPECT_FALSE(settings.is_fresh);
  EXPECT_THAT(settings.loop.evaluation_values, testing::IsEmpty());
  EXPECT_FALSE(settings.eval_rows.has_value());
}

}  // namespace
}  // namespace mgpu::recipes
