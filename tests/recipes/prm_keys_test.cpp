// Tests the keys of recipe prm: their meaning, contradictions, and models that do not fit them.
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "recipes/prm/keys.hpp"
#include "recipes/prm/method.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

Config train(Keys keys) {
  keys.insert({{"job", "train"}, {"model.path", "m"}, {"data.path", "d.jsonl"}});
  return config_of(keys);
}

PrmSettings settings_of(const Keys& keys) {
  return read_prm_settings(train(keys));
}

/// Returns the keys that check_prm_keys() complains about, each with its code.
std::vector<std::string> refused(const Keys& keys) {
  std::vector<std::string> found;
  const auto add = [&](const ErrorReport& report) {
    const std::string text = render(report);
    const std::size_t end = text.find("` is set here");
    const std::size_t begin = text.rfind('`', end - 1) + 1;
    found.push_back(report.code + " " + text.substr(begin, end - begin));
  };
  try {
    check_prm_keys(train(keys));
  } catch (const CombinedFailure& failures) {
    for (const ErrorReport& report : failures.reports())
      add(report);
  } catch (const Failure& failure) {
    add(failure.report());
  }
  return found;
}

TEST(PrmKeysTest, AKeyOfPrmSelectsTheRecipe) {
  EXPECT_EQ(recipe_of(train({{"prm.loss", "mse"}})).name, "prm");
  EXPECT_EQ(recipe_of(train({{"train.recipe", "prm"}})).name, "prm");
  EXPECT_EQ(recipe_of(train({{"prm.loss", "bce"}})).name, "sft");  // the default
  EXPECT_FALSE(has_prm_keys(train({})));
}

TEST(PrmKeysTest, TheDefaultsLearnValuesAtLineBreaks) {
  const PrmSettings settings = settings_of({});
  EXPECT_EQ(settings.kind, PrmLossKind::bce);
  EXPECT_EQ(settings.head.outputs, 1);
  EXPECT_EQ(settings.head.place, lm::StepPlace::separator);
  EXPECT_EQ(settings.head.separator, "\n");
  EXPECT_TRUE(settings.learns_values);
  EXPECT_FALSE(settings.shuffles_labels);
  EXPECT_EQ(settings.threshold, 0.5);
  EXPECT_EQ(settings.held_out, 0.0);
}

TEST(PrmKeysTest, KeysHaveTheirMeaning) {
  const PrmSettings settings = settings_of({{"prm.loss", "pairwise"},
                                            {"prm.head", "two_class"},
                                            {"prm.target", "labels"},
                                            {"prm.threshold", "0.25"},
                                            {"prm.held_out", "0.125"},
                                            {"prm.shuffle_labels", "true"},
                                            {"run.seed", "11"}});
  EXPECT_EQ(settings.kind, PrmLossKind::pairwise);
  EXPECT_EQ(settings.head.outputs, 2);
  EXPECT_FALSE(settings.learns_values);
  EXPECT_TRUE(settings.shuffles_labels);
  EXPECT_EQ(settings.threshold, 0.25);
  EXPECT_EQ(settings.held_out, 0.125);
  EXPECT_EQ(settings.seed, 11U);
  EXPECT_EQ(settings_of({{"prm.loss", "mse"}}).kind, PrmLossKind::mse);
}

TEST(PrmKeysTest, ASeparatorMayHaveLineBreaks) {
  const auto separator = [](const std::string& text) {
    return settings_of({{"prm.step_separator", text}}).head.separator;
  };
  EXPECT_EQ(separator("\\n\\n"), "\n\n");
  EXPECT_EQ(separator("; \\n-"), "; \n-");
  EXPECT_EQ(separator("<step>"), "<step>");
}

TEST(PrmKeysTest, TreesAreJudgedAtTheTokensThatWereDrawn) {
  for (const char* path : {"run/results.h5", "trees.hdf5"}) {
    EXPECT_TRUE(is_tree_file(path));
    EXPECT_EQ(settings_of({{"data.path", path}}).head.place, lm::StepPlace::last_token);
  }
  EXPECT_FALSE(is_tree_file("results.h5.jsonl"));
  EXPECT_FALSE(is_tree_file("h5"));
}

TEST(PrmKeysTest, KeysThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refused({}), IsEmpty());
  EXPECT_THAT(refused({{"data.eval_path", "e.jsonl"}}), IsEmpty());
  EXPECT_THAT(refused({{"data.path", "a.h5"}, {"data.eval_path", "b.hdf5"}}), IsEmpty());
  EXPECT_THAT(refused({{"data.path", "a.h5"}, {"prm.step_separator", "."}}),
              ElementsAre("E124 prm.step_separator"));
  EXPECT_THAT(refused({{"data.path", "a.h5"}, {"prm.step_separator", "\\n"}}), IsEmpty());
  EXPECT_THAT(refused({{"data.path", "a.h5"}, {"data.eval_path", "e.jsonl"}}),
              ElementsAre("E124 data.eval_path"));
  EXPECT_THAT(refused({{"data.eval_path", "b.h5"}}), ElementsAre("E124 data.eval_path"));
  EXPECT_THAT(refused({{"data.eval_path", "e.jsonl"}, {"prm.held_out", "0.5"}}),
              ElementsAre("E124 prm.held_out"));
  EXPECT_THAT(refused({{"data.template", "{text}"}}), ElementsAre("E124 data.template"));
}

TEST(PrmKeysTest, AllContradictionsAreNamedTogether) {
  EXPECT_THAT(
      refused({{"data.eval_path", "b.h5"}, {"prm.held_out", "0.5"}, {"data.template", "{text}"}}),
      ElementsAre("E124 data.eval_path", "E124 prm.held_out", "E124 data.template"));
}

/// A folder whose config.json describes a process reward model.
class PrmFolderTest : public testing::Test {
protected:
  void write(const char* architecture, int labels, const std::string& step_head) const {
    std::ofstream(folder_.path() / "config.json")
        << R"({"architectures": [")" << architecture << R"("], "num_labels": )" << labels
        << step_head << "}";
  }

  /// Returns why the folder does not fit these keys; "" if it fits.
  std::string why(Keys keys) const {
    keys["model.path"] = folder_.path().string();
    const Config config = train(keys);
    const ErrorReport report = report_of_failure(
        [&] { PrmMethod(read_prm_settings(config)).check_start(config, folder_.path()); });
    if (!report.code.empty()) {
      EXPECT_EQ(report.code, "E107");
      EXPECT_EQ(report.exit, ExitCode::config);
    }
    return report.sentence;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(PrmFolderTest, AModelGoesOnWithTheOutputsThatItHas) {
  write("LlamaForTokenClassification", 2, "");
  EXPECT_EQ(why({{"prm.head", "two_class"}}), "");
  EXPECT_THAT(why({{"prm.head", "scalar"}}), HasSubstr("a process reward model with 2 outputs"));
  write("LlamaForTokenClassification", 1, "");
  EXPECT_EQ(why({}), "");
  EXPECT_THAT(why({{"prm.head", "two_class"}}), HasSubstr("with 1 outputs"));
}

TEST_F(PrmFolderTest, AModelGoesOnAtThePlaceWhereItJudges) {
  const char* elsewhere = "model.path judges steps at another token";
  write("LlamaForTokenClassification", 1, R"(, "step_head": {"place": "last_token"})");
  EXPECT_EQ(why({{"data.path", "a.h5"}}), "");
  EXPECT_THAT(why({}), HasSubstr(elsewhere));
  write("LlamaForTokenClassification", 1,
        R"(, "step_head": {"place": "separator", "separator": "; "})");
  EXPECT_EQ(why({{"prm.step_separator", "; "}}), "");
  EXPECT_THAT(why({}), HasSubstr(elsewhere));  // a line break
  EXPECT_THAT(why({{"data.path", "a.h5"}}), HasSubstr(elsewhere));
}

TEST_F(PrmFolderTest, ALanguageModelFitsAllKeys) {
  write("LlamaForCausalLM", 7, "");
  EXPECT_EQ(why({{"prm.head", "two_class"}, {"data.path", "a.h5"}}), "");
}

}  // namespace
}  // namespace mgpu::recipes
