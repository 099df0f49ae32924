// Tests how stage files become a graph of stages and cells.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

#include "jobs/experiment/joined_rounds.hpp"
#include "jobs/experiment/stages.hpp"
#include "made_experiment.hpp"

namespace mgpu::jobs {
namespace {

using test::config_of;
using test::Keys;
using test::MadeExperiment;
using test::report_of_failure;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Stage files of guided sampling. The value model learns from rollouts, which the value model of
/// the previous round guides.
class ExperimentGraphTest : public testing::Test {
protected:
  ExperimentGraphTest() {
    made_.write("reference", "schema: 1\njob: train\nmodel: {init: m}\ndata: {path: d.jsonl}\n");
    made_.write("answers",
                "schema: 1\njob: generate\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
                "data: {path: \"${dataset}.jsonl\"}\n");
    made_.write("alone", "include: [answers.yaml]\n");
    made_.write("rollouts", "include: [\"rollouts_${phase}.yaml\"]\n");
    made_.write("rollouts_first", "include: [answers.yaml]\n");
    made_.write(
        "rollouts_later",
        "include: [answers.yaml]\ngenerate: {guide: {path: \"${previous.value}/ckpt/last\", "
        "algorithm: qsharp, eta: 1}}\n");
    made_.write("value",
                "schema: 1\njob: train\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
                "data: {path: \"${stage.rollouts}/results.jsonl\"}\n");
    made_.write("qsharp",
                "include: [answers.yaml]\ngenerate: {guide: {path: \"${stage.value}/ckpt/last\", "
                "algorithm: qsharp, eta: ${eta}}}\n");
  }

  ErrorReport refusal(const Keys& keys) const {
    return report_of_failure([&] { made_.graph(keys); });
  }

  MadeExperiment made_;
};

const Keys kTwoRounds = {{"experiment.algorithms", "[qsharp]"},
                         {"experiment.baseline", "alone"},
                         {"experiment.datasets", "[a]"},
                         {"experiment.etas", "[0.5, 2]"},
                         {"experiment.rounds", "2"},
                         {"experiment.ranks", "{value: 2}"}};

std::vector<std::string> names_of(const std::vector<Stage>& stages) {
  std::vector<std::string> names;
  for (const Stage& stage : stages)
    names.push_back(stage.name);
  return names;
}

std::vector<std::string> names_before(const StageGraph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const Stage& stage : graph.stages)
    if (stage.name == name)
      for (const std::size_t before : stage.after)
        names.push_back(graph.stages[before].name);
  return names;
}

TEST_F(ExperimentGraphTest, CellsShareStagesThatUseTheSameValues) {
  const StageGraph graph = made_.graph(kTwoRounds);
  EXPECT_THAT(names_of(graph.stages),
              ElementsAre("reference", "alone-a", "rollouts-a-r0", "value-a-r0",
                          "qsharp-a-r0-eta0.5", "qsharp-a-r0-eta2", "rollouts-a-r1", "value-a-r1",
                          "qsharp-a-r1-eta0.5", "qsharp-a-r1-eta2"));
  ASSERT_EQ(graph.cells.size(), 5U);
  EXPECT_EQ(graph.cells[0].evaluation, 1U);
  EXPECT_EQ(graph.cells[0].values, (CellValues{{"algorithm", "alone"}, {"dataset", "a"}}));
  EXPECT_EQ(graph.cells[4].evaluation, 9U);
  EXPECT_EQ(graph.cells[4].values,
            (CellValues{{"algorithm", "qsharp"}, {"dataset", "a"}, {"eta", "2"}, {"round", "1"}}));
}

TEST_F(ExperimentGraphTest, AStageWaitsForWhatItReadsAndForTheLastRoundOfItsCell) {
  const StageGraph graph = made_.graph(kTwoRounds);
  EXPECT_THAT(graph.stages[0].after, IsEmpty());
  EXPECT_THAT(graph.stages[1].after, ElementsAre(0));
  EXPECT_THAT(graph.stages[2].after, ElementsAre(0));
  EXPECT_THAT(graph.stages[3].after, ElementsAre(0, 2));
  EXPECT_THAT(graph.stages[5].after, ElementsAre(0, 3));
  EXPECT_THAT(graph.stages[6].after, ElementsAre(0, 3, 4, 5));
  EXPECT_THAT(graph.stages[7].after, ElementsAre(0, 4, 5, 6));
  EXPECT_THAT(graph.stages[8].after, ElementsAre(0, 4, 5, 7));
}

/// Makes the run directories of all stages in `folder`, with the name of the stage in
/// results.jsonl.
std::map<std::size_t, std::string> made_runs(const StageGraph& graph,
                                             const std::filesystem::path& folder) {
  std::map<std::size_t, std::string> directories;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    directories[s] = (folder / graph.stages[s].name).string();
    std::filesystem::create_directories(directories[s]);
    std::ofstream(std::filesystem::path(directories[s]) / "results.jsonl")
        << graph.stages[s].name << "\n";
  }
  return directories;
}

TEST_F(ExperimentGraphTest, RowsOfAllRoundsAreJoined) {
  made_.write("value",
              "schema: 1\njob: train\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
              "data: {path: \"${rounds.rollouts}/results.jsonl\"}\n");
  Keys keys = kTwoRounds;
  keys["experiment.rounds"] = "3";
  keys["experiment.etas"] = "[2]";
  const StageGraph graph = made_.graph(keys);
  const auto directories = made_runs(graph, made_.outputs());
  std::vector<std::string> joined;
  for (const Stage& stage : graph.stages) {
    if (stage.file_name == "rollouts") {
      EXPECT_THAT(stage.exports, ElementsAre("jsonl"));
    }
    if (stage.file_name != "value") continue;
    join_rounds(stage, directories);
    joined.push_back(read_file(with_inputs(stage, directories).text("data.path")));
  }
  EXPECT_THAT(joined, ElementsAre("rollouts-a-r0\n", "rollouts-a-r0\nrollouts-a-r1\n",
                                  "rollouts-a-r0\nrollouts-a-r1\nrollouts-a-r2\n"));
  EXPECT_THAT(names_before(graph, "value-a-r2"),
              ElementsAre("reference", "rollouts-a-r0", "rollouts-a-r1", "qsharp-a-r1-eta2",
                          "rollouts-a-r2"));
}

TEST_F(ExperimentGraphTest, PlaceholdersThatJoinDifferentRowsAreRefused) {
  made_.write("value",
              "schema: 1\njob: train\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
              "data: {path: \"${rounds.rollouts}/results.jsonl\",\n"
              "       eval_path: \"${rounds.alone.rollouts}/results.jsonl\"}\n");
  const ErrorReport report = report_of_failure([&] { made_.graph(kTwoRounds); });
  EXPECT_EQ(report.code, "E124");
  EXPECT_THAT(report.sentence, HasSubstr("different earlier stages"));
}

TEST_F(ExperimentGraphTest, TheRowsOfTheFirstRoundMayBeThoseOfAnotherStage) {
  made_.write("value",
              "schema: 1\njob: train\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
              "data: {path: \"${rounds.alone.rollouts}/results.jsonl\"}\n");
  const StageGraph graph = made_.graph(kTwoRounds);
  const auto directories = made_runs(graph, made_.outputs());
  std::vector<std::string> rows;
  for (const Stage& stage : graph.stages) {
    if (stage.file_name != "value") continue;
    join_rounds(stage, directories);
    rows.push_back(read_file(with_inputs(stage, directories).text("data.path")));
  }
  EXPECT_THAT(rows, ElementsAre("alone-a\n", "alone-a\nrollouts-a-r1\n"));
}

TEST_F(ExperimentGraphTest, APlanReadsTheLastRoundUntilRowsAreJoined) {
  made_.write("value",
              "schema: 1\njob: train\nmodel: {path: \"${stage.reference}/ckpt/last\"}\n"
              "data: {path: \"${rounds.rollouts}/results.jsonl\"}\n");
  const StageGraph graph = made_.graph(kTwoRounds);
  auto directories = made_runs(graph, made_.outputs());
  const auto value = std::ranges::find(graph.stages, "value-a-r1", &Stage::name);
  const auto planned = [&] { return with_inputs(*value, directories, true).text("data.path"); };
  EXPECT_EQ(read_file(planned()), "rollouts-a-r1\n");
  join_rounds(*value, directories);
  EXPECT_EQ(read_file(planned()), "rollouts-a-r0\nrollouts-a-r1\n");
  // Another run of an earlier round has another file.
  directories[2] += "_again";
  EXPECT_FALSE(std::filesystem::exists(with_inputs(*value, directories).text("data.path")));
}

TEST_F(ExperimentGraphTest, OnlyJsonLinesOfSeveralRoundsAreJoined) {
  made_.write("value",
              "schema: 1\njob: train\nmodel: {path: \"${rounds.rollouts}/ckpt/last\"}\n"
              "data: {path: d.jsonl}\n");
  const ErrorReport report = refusal(kTwoRounds);
  EXPECT_EQ(report.code, "E124");
  EXPECT_EQ(report.sentence,
            "`${rounds.rollouts}` joins JSON Lines only, and model.path reads ckpt/last");
  EXPECT_EQ(report.help, "${rounds.rollouts}/results.jsonl");
}

TEST_F(ExperimentGraphTest, WithABarrierARoundWaitsForAllCells) {
  Keys keys = {{"experiment.algorithms", "[qsharp]"},
               {"experiment.datasets", "[a, b]"},
               {"experiment.etas", "[1]"},
               {"experiment.rounds", "2"}};
  EXPECT_THAT(names_before(made_.graph(keys), "rollouts-a-r1"),
              ElementsAre("reference", "value-a-r0", "qsharp-a-r0-eta1"));
  keys["experiment.round_barrier"] = "true";
  EXPECT_THAT(names_before(made_.graph(keys), "rollouts-a-r1"),
              ElementsAre("reference", "value-a-r0", "qsharp-a-r0-eta1", "qsharp-b-r0-eta1"));
}

TEST_F(ExperimentGraphTest, StagesGivenByTheKeyAfterHaveTheSameValues) {
  const StageGraph graph = made_.graph({{"experiment.stages", "[alone, value]"},
                                        {"experiment.datasets", "[a, b]"},
                                        {"experiment.after", "{value: alone}"}});
  EXPECT_THAT(names_before(graph, "value-b-r0"),
              ElementsAre("reference", "alone-b", "rollouts-b-r0"));
}

TEST_F(ExperimentGraphTest, InputsAreBelowTheOutputsOfOtherStages) {
  const StageGraph graph = made_.graph(kTwoRounds);
  const Stage& value = graph.stages[3];
  EXPECT_EQ(value.output, made_.outputs() / "x/stages/value-a-r0/latest");
  ASSERT_EQ(value.inputs.size(), 2U);
  const Config config = with_inputs(value, {{0, "/runs/reference"}, {2, "/runs/rollouts"}});
  EXPECT_EQ(config.text("model.path"), "/runs/reference/ckpt/last");
  EXPECT_EQ(config.text("data.path"), "/runs/rollouts/results.jsonl");
  EXPECT_THAT(graph.stages[2].exports, ElementsAre("jsonl"));
  EXPECT_THAT(graph.stages[4].exports, IsEmpty());
  EXPECT_EQ(graph.stages[6].config.text("generate.guide.path"),
            (value.output / "ckpt/last").string());
}

TEST_F(ExperimentGraphTest, NeedsHaveTheWishAndTheRound) {
  const std::vector<StageNeed> needs = needs_of(made_.graph(kTwoRounds).stages);
  ASSERT_EQ(needs.size(), 10U);
  EXPECT_EQ(needs[3].wish, 2);
  EXPECT_EQ(needs[7].wish, 2);
  EXPECT_EQ(needs[2].wish, 0);
  EXPECT_EQ(needs[3].round, 0);
  EXPECT_EQ(needs[7].round, 1);
  EXPECT_EQ(needs[0].round, 0);
}

TEST_F(ExperimentGraphTest, AGivenSeedReplacesThatOfTheStages) {
  made_.write("own", "schema: 1\njob: train\nrun: {seed: 3, deterministic: \"false\"}\n");
  const Keys keys = {{"experiment.stages", "[own, reference]"}};
  const StageGraph graph = made_.graph(keys);
  EXPECT_EQ(graph.stages[0].config.integer("run.seed"), 3);
  EXPECT_EQ(graph.stages[0].config.text("run.deterministic"), "false");
  EXPECT_EQ(graph.stages[1].config.text("run.deterministic"), "layout");
  Keys with_seed = keys;
  with_seed["run.seed"] = "7";
  const StageGraph other = made_.graph(with_seed);
  EXPECT_EQ(other.stages[0].config.integer("run.seed"), 7);
  EXPECT_EQ(other.stages[1].config.integer("run.seed"), 7);
}

TEST_F(ExperimentGraphTest, WrongNamesInStageFilesAreRefused) {
  made_.write("odd", "schema: 1\njob: train\nmodel: {path: \"${stage.a/b}\"}\n");
  made_.write("inner", "schema: 1\njob: experiment\n");
  const Keys with_data = {{"experiment.datasets", "[a]"}};
  const auto refusal_with = [&](const std::string& key, const std::string& value) {
    Keys keys = with_data;
    keys[key] = value;
    return refusal(keys);
  };
  const ErrorReport first = refusal_with("experiment.stages", "[rollouts_later]");
  EXPECT_EQ(first.code, "E124");
  EXPECT_EQ(first.sentence, "`${previous.value}` has no value in round 0");
  EXPECT_THAT(first.lines, ElementsAre("  --> " + made_.file("rollouts_later").string()));
  const ErrorReport eta = refusal_with("experiment.algorithms", "[qsharp]");
  EXPECT_EQ(eta.sentence, "`${eta}` has no value: `experiment.etas` is empty");
  EXPECT_EQ(eta.help, "experiment.etas=[0.5]");
  EXPECT_THAT(eta.lines, ElementsAre("  --> " + made_.file("qsharp").string()));
  EXPECT_EQ(refusal_with("experiment.stages", "[odd]").sentence,
            "`a/b` is not the name of a stage");
  EXPECT_EQ(refusal_with("experiment.stages", "[inner]").sentence,
            "stage inner is an experiment itself");
  const ErrorReport missing = refusal_with("experiment.algorithms", "[qsharpp]");
  EXPECT_EQ(missing.code, "E124");
  EXPECT_EQ(missing.sentence, "there is no algorithm `qsharpp` in experiment.folder");
  EXPECT_EQ(refusal_with("experiment.stages", "[nothing]").code, "E603");
  made_.write("reads_nothing", "schema: 1\njob: train\nmodel: {path: \"${rounds.nothing}/x\"}\n");
  const ErrorReport nothing = refusal_with("experiment.stages", "[reads_nothing]");
  EXPECT_EQ(nothing.sentence, "there is no stage `nothing` in experiment.folder");
  EXPECT_THAT(nothing.lines, ElementsAre("  --> " + made_.file("reads_nothing").string()));
}

TEST_F(ExperimentGraphTest, NamesInKeysAreThoseOfStageFiles) {
  Keys keys = {{"experiment.stages", "[value]"}, {"experiment.datasets", "[a]"}};
  keys["experiment.after"] = "{value: refrence}";
  const ErrorReport after = refusal(keys);
  EXPECT_EQ(after.code, "E107");
  EXPECT_EQ(after.sentence, "the experiment has no stage `refrence`");
  EXPECT_EQ(after.help, "did you mean `reference`?");
  EXPECT_THAT(after.lines, Contains(HasSubstr("experiment.after")));
  keys.erase("experiment.after");
  keys["experiment.ranks"] = "{zzzzzzzz: 2}";
  EXPECT_EQ(refusal(keys).help, "the name of a stage file, such as reference");
}

TEST_F(ExperimentGraphTest, StagesThatWaitForEachOtherAreRefused) {
  made_.write("a", "schema: 1\njob: train\nmodel: {init: \"${stage.b}/ckpt/last\"}\n");
  made_.write("b", "schema: 1\njob: train\nmodel: {init: \"${stage.a}/ckpt/last\"}\n");
  const ErrorReport by_files = refusal({{"experiment.stages", "[a]"}});
  EXPECT_EQ(by_files.code, "E124");
  EXPECT_EQ(by_files.sentence, "the stages wait for each other: a waits for b waits for a");
  const ErrorReport by_key = refusal({{"experiment.stages", "[value]"},
                                      {"experiment.datasets", "[a]"},
                                      {"experiment.after", "{reference: value}"}});
  EXPECT_EQ(by_key.sentence,
            "the stages wait for each other: reference waits for value-a-r0 waits for reference");
  EXPECT_THAT(by_key.lines, ElementsAre("  --> " + made_.file("reference").string()));
}

TEST_F(ExperimentGraphTest, StagesWithOneNameOrOutputAreRefused) {
  for (const char* name : {"c", "d"})
    made_.write(name, "schema: 1\njob: train\nrun: {name: same}\n");
  const ErrorReport two = refusal({{"experiment.stages", "[c, d]"}});
  EXPECT_EQ(two.code, "E124");
  EXPECT_THAT(two.sentence, HasSubstr("stages c and d have the same run.name and run.output"));
  EXPECT_EQ(two.help, "another run.name in one of the two");
  made_.write("c", "schema: 1\njob: train\nrun: {name: same}\ndata: {path: ${dataset}}\n");
  const ErrorReport repeated =
      refusal({{"experiment.stages", "[c]"}, {"experiment.datasets", "[p, q]"}});
  EXPECT_THAT(repeated.sentence, HasSubstr("stages c-p and c-q have"));
  EXPECT_EQ(repeated.help, "remove run.name, because the experiment names the stage");
  made_.write("alone-a", "schema: 1\njob: train\n");
  EXPECT_EQ(
      refusal({{"experiment.stages", "[alone, alone-a]"}, {"experiment.datasets", "[a]"}}).sentence,
      "two stages have the name alone-a");
}

TEST(StageSizesTest, AreThoseThatTheJobAccepts) {
  const auto sizes = [](const char* batch, const char* deterministic, int ranks) {
    const Config config = config_of({{"job", "train"},
                                     {"train.global_batch_size", batch},
                                     {"train.lanes", "4"},
                                     {"run.deterministic", deterministic}});
    std::vector<Stage> stages{{.name = "s", .config = config, .file = {}, .output = {}}};
    choose_sizes(stages, ranks);
    return stages[0].sizes;
  };
  EXPECT_THAT(sizes("8", "layout", 6), ElementsAre(1, 2, 4));  // these divide the lanes
  EXPECT_THAT(sizes("3", "false", 6), ElementsAre(1, 2, 3));   // each rank needs a sequence
  EXPECT_THAT(sizes("120", "false", 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(sizes("120", "false", 100), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                                                      15, 16, 24, 32, 48, 64, 96, 100));
}

TEST(StageSizesTest, AJobThatAcceptsNoSizeSaysWhy) {
  std::vector<Stage> stages{
      {.name = "s", .config = config_of({{"job", "generate"}}), .file = {}, .output = {}}};
  const ErrorReport report = report_of_failure([&] { choose_sizes(stages, 4); });
  EXPECT_EQ(report.code, "E114");
  EXPECT_THAT(report.sentence, HasSubstr("model.path"));
}

}  // namespace
}  // namespace mgpu::jobs
