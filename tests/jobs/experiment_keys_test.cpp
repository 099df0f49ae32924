// Tests the keys experiment.*: their meaning, and values that are refused.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "jobs/experiment/keys.hpp"
#include "jobs/experiment/matrix_keys.hpp"
#include "support/made_config.hpp"

namespace mgpu::jobs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

Config config_with(const Keys& more) {
  Keys keys = {{"job", "experiment"}, {"experiment.folder", "f"}, {"experiment.stages", "[a]"}};
  for (const auto& [name, value] : more)
    keys[name] = value;
  return config_of(keys);
}

ErrorReport refusal_of(const Keys& keys) {
  return report_of_failure([&] { check_experiment_keys(config_with(keys)); });
}

struct WrongValue {
  std::string key, value, code, sentence, help;
};

TEST(ExperimentKeysTest, AKeyThatLacksALetterIsNotTakenForThatOfAnotherSection) {
  // The key generate.guide.algorithm ends with the same word.
  const ErrorReport report = report_of_failure([] {
    config_with({{"experiment.algorithm", "[p]"}});
  });

  EXPECT_EQ(report.code, "E101");
  EXPECT_THAT(report.lines, Contains(HasSubstr("did you mean `experiment.algorithms`?")));
}

TEST(ExperimentKeysTest, EachWrongValueIsRefusedAtItsPlace) {
  const std::vector<WrongValue> wrong = {
      {"experiment.folder", "null", "E114", "needs `experiment.folder`", "experiment.folder="},
      {"experiment.stages", "[]", "E114", "`experiment.algorithms`", "experiment.stages=["},
      {"experiment.stages", "[a.b]", "E107", "unlike `a.b`", "reference.yaml"},
      {"experiment.stages", "[a, b, a]", "E107", "a stage comes twice", "remove"},
      {"experiment.after", "{a: \"b a\"}", "E107", "`a` cannot wait for itself", "remove"},
      {"experiment.ranks", "{a: 0}", "E107", "`0` is no number of ranks", "{a: 2}"},
      {"experiment.ranks", "{a: -3}", "E107", "`-3` is no number of ranks", "{a: 2}"},
      {"experiment.ranks", "{a: 2x}", "E107", "`2x` is no number of ranks", "{a: 2}"},
      {"experiment.ranks", "{a: 99999999999}", "E107", "is no number of ranks", "{a: 2}"},
      {"experiment.algorithms", "[p, p]", "E107", "a name comes twice", "remove"},
      {"experiment.algorithms", "{p: yes}", "E107", "`yes` does not say whether algorithm p",
       "{p: true}"},
      {"experiment.algorithms", "{p: false, q: false}", "E107", "no algorithm is enabled",
       "{p: true}"},
      {"experiment.datasets", "[a/b]", "E107", "unlike `a/b`", "names of folders"},
      {"experiment.models", "[.a]", "E107", "unlike `.a`", "names of folders"},
      {"experiment.etas", "[1, 1]", "E107", "a name comes twice", "remove"},
      {"experiment.baseline", "a b", "E107", "`a b` is not the name of an algorithm", ".yaml"},
      {"experiment.select", "{seed: 1}", "E107", "`seed` is neither algorithm", "round: 0"},
      {"experiment.select", "{round: 1}", "E107", "no cell has the selected values", "rounds - 1"},
      {"experiment.preferences", "{rank: 1}", "E107", "`rank` is neither `round` nor a value",
       "experiment.preferences={round: 1}"},
      {"experiment.preferences", "{algorithm=p: 1}", "E107", "`algorithm=p` is neither", "round"},
      {"experiment.preferences", "{round: much}", "E107", "`much` is no number", "{round: 1}"},
      {"run.total_workers", "2", "E124", "has no parts", "remove"},
      {"run.schedule", "dynamic", "E124", "shares its chunks out", "run.schedule=static"},
  };
  for (const WrongValue& value : wrong) {
    const ErrorReport report = refusal_of({{value.key, value.value}});
    EXPECT_EQ(report.code, value.code) << value.key << "=" << value.value;
    EXPECT_EQ(report.exit, ExitCode::config) << value.key;
    EXPECT_THAT(report.sentence, HasSubstr(value.sentence));
    EXPECT_THAT(report.help, HasSubstr(value.help));
    EXPECT_THAT(report.lines, Contains(HasSubstr(value.key + "=" + value.value)));
  }
}

TEST(ExperimentKeysTest, WrongValuesOfSeveralKeysAreReportedTogether) {
  const ErrorReport report =
      refusal_of({{"experiment.ranks", "{a: none}"}, {"experiment.datasets", "[d, d]"}});
  EXPECT_THAT(report.sentence, HasSubstr("`none` is no number of ranks"));
  EXPECT_THAT(report.lines, Contains(HasSubstr("error[E107]: a name comes twice")));
}

TEST(ExperimentKeysTest, NamesOfValuesMayHaveDotsAndPlusButNotAtTheBeginning) {
  EXPECT_EQ(refusal_of({{"experiment.models", "[Qwen2.5-1.5B, a+b]"}}).code, "");
  EXPECT_TRUE(is_plain_name("a_b-1"));
  EXPECT_FALSE(is_plain_name("a.b"));
  EXPECT_TRUE(is_plain_name("a.b", "."));
  EXPECT_FALSE(is_plain_name(".a", "."));
  EXPECT_FALSE(is_plain_name(""));
}

TEST(ExperimentKeysTest, ValuesReachTheirMembers) {
  const ExperimentConfig keys =
      read_experiment_config(config_with({{"experiment.stages", "[a, b, c]"},
                                          {"experiment.after", "{c: \" a  b \", b: a}"},
                                          {"experiment.ranks", "{a: 2, c: 16}"},
                                          {"experiment.on_failure", "stop"},
                                          {"experiment.priority", "round"},
                                          {"experiment.retries", "3"},
                                          {"experiment.preferences", "{round: -2.5}"},
                                          {"run.seed", "9"}}));
  EXPECT_EQ(keys.folder.filename(), "f");
  EXPECT_THAT(keys.stages, ElementsAre("a", "b", "c"));
  EXPECT_THAT(keys.after,
              UnorderedElementsAre(Pair("c", ElementsAre("a", "b")), Pair("b", ElementsAre("a"))));
  EXPECT_THAT(keys.ranks, UnorderedElementsAre(Pair("a", 2), Pair("c", 16)));
  EXPECT_TRUE(keys.stops_on_failure);
  EXPECT_EQ(keys.urgency, Urgency::round);
  EXPECT_EQ(keys.retries, 3);
  EXPECT_THAT(keys.preferences, ElementsAre(Pair("round", -2.5)));
  EXPECT_TRUE(keys.gives_seed);
  EXPECT_EQ(keys.run.seed, 9U);

  const ExperimentConfig standard = read_experiment_config(config_with({}));
  EXPECT_FALSE(standard.stops_on_failure);
  EXPECT_EQ(standard.urgency, Urgency::chain);
  EXPECT_EQ(standard.retries, 0);
  EXPECT_FALSE(standard.gives_seed);
  EXPECT_EQ(standard.matrix.rounds, 1);
  EXPECT_THAT(standard.matrix.baseline, IsEmpty());
}

TEST(ExperimentKeysTest, TheBaselineIsTheFirstAlgorithmUnlessTheListHasIt) {
  const auto algorithms = [](const Keys& keys) {
    return read_matrix(config_with(keys)).algorithms;
  };
  const Keys none = {{"experiment.baseline", "ref"}};
  EXPECT_THAT(algorithms(none), ElementsAre("ref"));
  EXPECT_THAT(algorithms({{"experiment.baseline", "ref"}, {"experiment.algorithms", "[p, ref]"}}),
              ElementsAre("p", "ref"));
  EXPECT_THAT(algorithms({{"experiment.baseline", "ref"},
                          {"experiment.algorithms", "{p: true, ref: false, q: false}"}}),
              ElementsAre("ref", "p"));
}

TEST(ExperimentKeysTest, MorePartsThanCombinationsAreRefused) {
  Keys keys = {{"experiment.algorithms", "[p, q]"},
               {"experiment.baseline", "p"},
               {"experiment.models", "[a, b]"},
               {"run.worker_id", "1"},
               {"run.total_workers", "2"}};
  EXPECT_EQ(refusal_of(keys).code, "");
  EXPECT_EQ(read_matrix(config_with(keys)).part.index, 1);
  keys["run.total_workers"] = "3";
  const ErrorReport report = refusal_of(keys);
  EXPECT_EQ(report.code, "E124");
  EXPECT_THAT(report.sentence, HasSubstr("3 parts and only 2 combinations"));
  EXPECT_EQ(report.help, "--only 0/2");
  keys["run.total_workers"] = "2";
  keys["run.worker_id"] = "2";  // parts are counted from 0
  EXPECT_EQ(refusal_of(keys).code, "E124");
}

TEST(ExperimentKeysTest, SelectedValuesAreWords) {
  const Keys keys = {{"experiment.algorithms", "[p, q, r]"},
                     {"experiment.rounds", "3"},
                     {"experiment.select", "{algorithm: \"p r\", round: 2}"}};
  EXPECT_EQ(refusal_of(keys).code, "");
  EXPECT_THAT(read_matrix(config_with(keys)).select,
              UnorderedElementsAre(Pair("algorithm", ElementsAre("p", "r")),
                                   Pair("round", ElementsAre("2"))));
}

}  // namespace
}  // namespace mgpu::jobs
