// Tests the plan of an experiment: times, memory, and what it refuses.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/plan_machine.hpp>

#include "jobs/experiment/job.hpp"
#include "jobs/experiment/plan_chart.hpp"
#include "made_experiment.hpp"
#include "support/project_folder.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

using test::Keys;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path kExamples = testing_support::project_folder() / "conf/examples";
const Keys kMatrix = {{"experiment.algorithms", "[qsharp]"},
                      {"experiment.models", "[small, large]"},
                      {"experiment.etas", "[0.5]"},
                      {"experiment.baseline", "alone"}};

/// Replaces a part of the text, which has it once.
void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

/// A round of value guidance for two models without weights, of 0.8 million and 7 billion
/// parameters.
class ExperimentPlanTest : public testing::Test {
protected:
  ExperimentPlanTest() {
    make_model("small", "\"hidden_size\": 128", "\"hidden_size\": 128");
    make_model("large", "\"hidden_size\": 128", "\"hidden_size\": 4096");
    const std::string model = "model: {path: \"${stage.reference}/ckpt/last\"}\n";
    made_.write("reference", "schema: 1\njob: train\nmodel: {init: \"" +
                                 (made_.files() / "${model}").string() + "\"}\ndata: {path: \"" +
                                 answers().string() + "\"}\n" + steps("sft"));
    made_.write("alone", "schema: 1\njob: generate\n" + model + "data: {path: \"" +
                             (kExamples / "pairs/train.jsonl").string() +
                             "\", max_samples: 12}\ngenerate: {max_new_tokens: 4}\n");
    made_.write("rollouts", "include: [alone.yaml]\ngenerate: {num_samples: 2}\n");
    made_.write("value", "schema: 1\njob: train\n" + model +
                             "data: {path: \"${stage.rollouts}/results.jsonl\"}\n" +
                             steps("value"));
    made_.write("qsharp",
                "include: [alone.yaml]\ngenerate: {guide: {path: \"${stage.value}/ckpt/last\", "
                "algorithm: qsharp, eta: ${eta}}}\n");
  }

  static fs::path answers() { return kExamples / "pairs/answers.jsonl"; }

  static std::string steps(const std::string& recipe) {
    return "train: {recipe: " + recipe +
           ", seq_len: 64, global_batch_size: 8, lanes: 4, max_steps: 100}\n";
  }

  /// Copies the small model without its weights, and changes its config.json.
  void make_model(const std::string& name, const std::string& from, const std::string& to) const {
    const fs::path folder = made_.files() / name;
    fs::create_directory(folder);
    for (const char* file : {"tokenizer.json", "tokenizer_config.json"})
      fs::copy_file(kExamples / "tiny_lm/model" / file, folder / file);
    std::string config = read_file(kExamples / "tiny_lm/model/config.json");
    replace(config, from, to);
    if (name == "large") {
      replace(config, "\"intermediate_size\": 352", "\"intermediate_size\": 14336");
      replace(config, "\"num_hidden_layers\": 4", "\"num_hidden_layers\": 32");
      replace(config, "\"num_attention_heads\": 4", "\"num_attention_heads\": 32");
      replace(config, "\"head_dim\": 32", "\"head_dim\": 128");
    }
    std::ofstream(folder / "config.json") << config;
  }

  report::Plan plan(const Keys& more, const run::PlanMachine& machine) const {
    Keys keys = kMatrix;
    for (const auto& [name, value] : more)
      keys[name] = value;
    const Config config = made_.config(keys);
    return ExperimentJob(config).plan(machine);
  }

  /// Returns the note that has this text.
  static std::string line_of(const report::Plan& plan, const std::string& text) {
    for (const std::string& note : plan.notes)
      if (note.find(text) != std::string::npos) return note;
    return "";
  }

  static run::PlanMachine gpus(int ranks) {
    run::PlanMachine machine;
    machine.ranks = ranks;
    machine.ranks_per_node = ranks;
    machine.device = DeviceKind::cuda;
    machine.gpu_name = "a card";
    machine.gpu_bytes = std::uint64_t{40} << 30;
    machine.gpu_bytes_per_s = 1e12;
    machine.gpu_flops_16 = 1e14;
    machine.gpu_flops_32 = 1e13;
    return machine;
  }

  test::MadeExperiment made_;
};

TEST_F(ExperimentPlanTest, EveryStageHasMemoryAndTimeBeforeAnyModelIsTrained) {
  const report::Plan plan = this->plan({{"experiment.models", "[small]"}}, gpus(2));
  EXPECT_THAT(line_of(plan, "  a  reference-small "),
              AllOf(HasSubstr("  0-1    0.000 s"), HasSubstr("MiB of 40.0 GiB  guess: training")));
  EXPECT_THAT(line_of(plan, "  e  qsharp-small-eta0.5 "), HasSubstr("guess: prompts"));
  EXPECT_THAT(line_of(plan, "ranks over 0."), HasSubstr("each letter is"));
  EXPECT_THAT(line_of(plan, "  0  a"), HasSubstr("aaa"));
  ASSERT_EQ(plan.times.size(), 1U);
  EXPECT_GT(plan.times[0].seconds, 0.0);
  EXPECT_THAT(plan.times[0].basis, HasSubstr("longest chain"));
  EXPECT_EQ(plan.limits.size(), 5U);
  EXPECT_EQ(plan.card_bytes, std::uint64_t{40} << 30);
}

TEST_F(ExperimentPlanTest, ModelsThatDoNotFitACardAreRefusedWithATable) {
  const ErrorReport report = test::report_of_failure([&] { plan({}, gpus(2)); });
  EXPECT_EQ(report.code, "E301");
  EXPECT_EQ(report.exit, ExitCode::out_of_memory);
  EXPECT_EQ(report.sentence, "3 of 10 stages do not fit the memory of a card");
  ASSERT_EQ(report.lines.size(), 4U);
  EXPECT_THAT(report.lines[1], HasSubstr("reference-large"));
  EXPECT_EQ(report.help, "experiment.models=[small]");
}

TEST_F(ExperimentPlanTest, RowsThatDoNotExistYetLeaveAStageWithoutAnEstimate) {
  made_.write("reader", "schema: 1\njob: generate\nmodel: {path: \"" +
                            (made_.files() / "small").string() +
                            "\"}\ndata: {path: \"${stage.rollouts}/results.jsonl\"}\n");
  const report::Plan plan =
      this->plan({{"experiment.stages", "[reader]"}, {"experiment.models", "[small]"}}, gpus(1));
  EXPECT_THAT(line_of(plan, "reader-small  "), HasSubstr("unknown, 0 assumed"));
  EXPECT_THAT(line_of(plan, "memory and time of reader-small"), HasSubstr("cannot be used"));
}

TEST_F(ExperimentPlanTest, AMissingModelIsNamed) {
  fs::remove_all(made_.files() / "small");
  const ErrorReport report = test::report_of_failure([&] {
    plan({{"experiment.models", "[small]"}}, gpus(1));
  });
  EXPECT_EQ(report.code, "E603");
}

TEST(PlanChartTest, RanksThatDoTheSameShareALine) {
  const std::vector<SimulatedStage> stages = {
      {0.0, 18.0, {0, 1, 2}}, {18.0, 36.0, {1}}, {18.0, 18.0, {2}}, {}};
  const std::string half(36, 'a');
  EXPECT_THAT(chart_lines(stages, 3), ElementsAre("ranks over 36.000 s, each letter is 0.5 s",
                                                  "  0,2  " + half + std::string(36, '.'),
                                                  "  1    " + half + std::string(36, 'b')));
  EXPECT_THAT(chart_lines({{}, {}}, 3), IsEmpty());
}

}  // namespace
}  // namespace mgpu::jobs
