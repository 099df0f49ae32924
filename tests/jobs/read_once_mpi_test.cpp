// Tests that a job parses its keys once, and that nothing it does later reads them again.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/read_counts.hpp>
#include <mgpu/jobs/job.hpp>

#include "app/run_for_test.hpp"
#include "made_inputs.hpp"

namespace mgpu::jobs {
namespace {

using test::config_of;
using test::Keys;
using test::MadeInputs;
using testing::ElementsAre;
using testing::IsEmpty;

class Silence final : public EventSink, public ScalarSink {
public:
  void event(const Event&) override {}
  void scalar(std::string_view, std::int64_t, double) override {}
};

/// Returns the keys that the job of this configuration parses: those of the job, of run.* and of
/// log.*. Each stage of an experiment reads its own run.* and log.*, so these are left out.
KeyTable keys_of_job(const Config& config) {
  KeyTable table;
  for (const AddKeys add_keys : job_of(config).keys)
    add_keys(table);
  if (job_of(config).name == "experiment") return table;
  for (const char* name : {"run.seed", "run.chunk_size", "run.schedule", "run.worker_id",
                           "run.total_workers", "log.memory_every"})
    table.add(*config.table().find(name));
  return table;
}

run::PlanMachine machine() {
  run::PlanMachine machine;
  machine.name = "node01";
  machine.host_bytes = std::uint64_t{8} << 30;
  machine.disk_bytes = std::uint64_t{8} << 30;
  return machine;
}

class ReadOnceTest : public testing::Test {
protected:
  /// Makes a job, and then calls its methods. Returns the keys of the job that these calls read
  /// again.
  std::vector<std::string> read_again(Keys keys) {
    keys.insert({{"run.output", folder_.path() / "outputs"}, {"devices.backend", "mpi"}});
    const Config given = config_of(keys);
    Silence silence;
    app::test::RunForTest run(world_, given, app::test::request_of(given), silence);
    const run::RunContext& context = run.context();
    const std::unique_ptr<Job> job = read_job(context.config);

    const ReadCounts counts;
    job->check_files();
    for (const run::FileCheck& check : job->file_checks())
      check.look(world_);
    EXPECT_GT(job->disk_bytes(), 0U);
    EXPECT_FALSE(job->plan(machine()).memory.empty());
    EXPECT_EQ(job->run(run.context()).exit, ExitCode::done);
    if (job_of(given).name != "experiment")  // its journals are those of its stages
      job->merge(world_, {context.config, context.store, context.directory}, context.journal);
    std::vector<std::string> again;
    const KeyTable owned = keys_of_job(context.config);
    for (const auto& [name, count] : counts.all())
      if (owned.find(name) != nullptr) again.push_back(name);
    return again;
  }

  std::vector<std::string> read_again(const std::string& job, const std::string& row, Keys keys) {
    const MadeInputs inputs(row + "\n" + row + "\n");
    inputs.write("template.txt", "say {text} ");
    if (job == "classify") keys.emplace("classify.prompt", inputs.folder() / "template.txt");
    keys.insert({{"job", job}, {"model.path", inputs.model()}, {"data.path", inputs.rows()}});
    return read_again(keys);
  }

  const cluster::Group world_ = cluster::Group::world();
  const testing_support::TemporaryFolder folder_;
};

TEST_F(ReadOnceTest, ReadsAreCountedByKeyWhileACounterLives) {
  const Config config = config_of({{"job", "train"}, {"run.chunk_size", "8"}});
  config.integer("run.chunk_size");
  const ReadCounts counts;
  EXPECT_THAT(counts.all(), IsEmpty());
  config.integer("run.chunk_size");
  config.is("run.schedule", "static");
  config.is("run.schedule", "dynamic");
  EXPECT_THAT(counts.all(),
              ElementsAre(testing::Pair("run.chunk_size", 1), testing::Pair("run.schedule", 2)));
  EXPECT_THROW(ReadCounts(), Error);
}

TEST_F(ReadOnceTest, WhileAJobIsReadEachKeyOfItsRunIsReadOnce) {
  for (const char* job : {"train", "generate", "teacher", "classify", "collect"}) {
    const Config config = config_of({{"job", job}, {"data.path", "d"}, {"model.path", "m"}});
    const ReadCounts counts;
    read_job(config);
    for (const char* name : {"run.chunk_size", "run.schedule", "run.worker_id"})
      EXPECT_EQ(counts.all().at(name), 1) << job << " " << name;
  }
}

TEST_F(ReadOnceTest, Train) {
  EXPECT_THAT(read_again({{"job", "train"},
                          {"run.chunk_size", "8"},
                          {"model.tf_n_embd", "16"},
                          {"model.tf_n_layer", "1"},
                          {"model.tf_n_head", "2"},
                          {"model.n_transit", "40"},
                          {"data.streams", "1"},
                          {"data.episodes", "2"},
                          {"train.max_steps", "2"},
                          {"train.global_batch_size", "8"},
                          {"train.lanes", "4"},
                          {"train.warmup_steps", "0"},
                          {"evaluate.runs", "1"},
                          {"evaluate.episodes", "2"},
                          {"log.memory_every", "1"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, TrainWithALanguageModel) {
  EXPECT_THAT(read_again("train", R"({"prompt": "abc", "completion": "def"})",
                         {{"train.seq_len", "8"},
                          {"train.max_steps", "2"},
                          {"train.global_batch_size", "2"},
                          {"train.lanes", "2"},
                          {"train.warmup_steps", "0"}}),
              IsEmpty());
}

/// A recipe of language models, with a row for it and its own keys.
struct RecipeCase {
  std::string recipe;
  std::string row;
  Keys keys{};
};

class RecipesReadOnceTest : public ReadOnceTest, public testing::WithParamInterface<RecipeCase> {};

TEST_P(RecipesReadOnceTest, ReadsEachKeyOnce) {
  Keys keys = GetParam().keys;
  keys.insert({{"train.recipe", GetParam().recipe},
               {"train.seq_len", "12"},
               {"train.max_steps", "2"},
               {"train.global_batch_size", "4"},
               {"train.lanes", "4"},
               {"train.warmup_steps", "0"}});
  EXPECT_THAT(read_again("train", GetParam().row, keys), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Recipes, RecipesReadOnceTest,
    testing::Values(RecipeCase{"dpo", R"({"prompt": "ab", "chosen": "cd", "rejected": "e"})"},
                    RecipeCase{"kto", R"({"prompt": "ab", "completion": "cd", "label": true})"},
                    RecipeCase{"reward", R"({"prompt": "ab", "chosen": "cd", "rejected": "e"})"},
                    RecipeCase{"value", R"({"prompt": "ab", "completion": "cd", "label": 1})"},
                    RecipeCase{"prm",
                               R"({"prompt": "ab", "completions": ["c", "d"], "labels": [1, 0]})"},
                    RecipeCase{"grpo",
                               R"({"prompt": "ab", "answer": "1"})",
                               {{"reward.functions", "[regex]"},
                                {"reward.regex", "a"},
                                {"grpo.group_size", "2"},
                                {"grpo.max_new_tokens", "2"}}}),
    [](const testing::TestParamInfo<RecipeCase>& of_case) { return of_case.param.recipe; });

TEST_F(ReadOnceTest, TrainByDistillation) {
  const MadeInputs teacher;
  EXPECT_THAT(read_again("train", R"({"prompt": "abc", "completion": "def"})",
                         {{"train.recipe", "distill"},
                          {"distill.model", teacher.model()},
                          {"train.seq_len", "8"},
                          {"train.max_steps", "2"},
                          {"train.global_batch_size", "2"},
                          {"train.lanes", "2"},
                          {"train.warmup_steps", "0"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, CollectWithAgents) {
  std::ofstream(folder_.path() / "agents.json")
      << R"({"agents": [{"name": "planner", "prompt": "plan {question}."},
             {"name": "judger", "prompt": "{question} is "}]})";
  EXPECT_THAT(read_again("collect", R"({"prompt": "abc", "answer": "1"})",
                         {{"collect.steps", "latent"},
                          {"collect.num_paths", "2"},
                          {"collect.latent.steps", "2"},
                          {"collect.max_new_tokens", "4"},
                          {"collect.agents.path", folder_.path() / "agents.json"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, Collect) {
  EXPECT_THAT(
      read_again(
          "collect", R"({"prompt": "abc", "answer": "1"})",
          {{"collect.num_paths", "2"}, {"collect.rollouts", "2"}, {"collect.max_new_tokens", "8"}}),
      IsEmpty());
}

TEST_F(ReadOnceTest, Generate) {
  EXPECT_THAT(read_again("generate", R"({"prompt": "abc", "id": "x"})",
                         {{"generate.max_new_tokens", "2"}, {"generate.batch_size", "auto"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, GenerateThatOnlyScores) {
  EXPECT_THAT(read_again("generate", R"({"prompt": "abc", "id": "x"})",
                         {{"generate.max_new_tokens", "0"}, {"generate.num_samples", "2"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, GenerateWithAReference) {
  const MadeInputs reference;
  EXPECT_THAT(read_again("generate", R"({"prompt": "abc", "answer": "1"})",
                         {{"generate.max_new_tokens", "2"},
                          {"generate.reference", reference.model()},
                          {"reward.functions", "[match]"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, GenerateWithAGuide) {
  const MadeInputs guide("", "", test::token_scorer(R"("value_head": {"kind": "bernoulli"})"));
  EXPECT_THAT(read_again("generate", R"({"prompt": "abc"})",
                         {{"generate.max_new_tokens", "2"},
                          {"generate.do_sample", "true"},
                          {"generate.guide.path", guide.model()},
                          {"generate.guide.eta", "0.5"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, GenerateWithASearch) {
  const MadeInputs judge("", "", test::token_scorer(R"("step_head": {"place": "last_token"})"));
  EXPECT_THAT(read_again("generate", R"({"prompt": "abc"})",
                         {{"generate.max_new_tokens", "4"},
                          {"generate.do_sample", "true"},
                          {"generate.num_samples", "4"},
                          {"generate.search", "beam"},
                          {"generate.reward.path", judge.model()},
                          {"generate.reward.step_tokens", "2"},
                          {"generate.reward.beam_width", "2"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, Experiment) {
  const MadeInputs inputs(R"({"prompt": "abc", "answer": "1"})");
  std::ofstream(folder_.path() / "draw.yaml")
      << "schema: 1\njob: generate\nmodel: {path: " << inputs.model().string()
      << "}\ndata: {path: " << inputs.rows().string() << "}\ngenerate: {max_new_tokens: 2}\n";
  EXPECT_THAT(read_again({{"job", "experiment"},
                          {"experiment.folder", folder_.path()},
                          {"experiment.stages", "[draw]"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, Teacher) {
  EXPECT_THAT(read_again("teacher", R"({"text": "abc"})",
                         {{"teacher.top_k", "4"}, {"teacher.batch_size", "auto"}}),
              IsEmpty());
}

TEST_F(ReadOnceTest, Classify) {
  EXPECT_THAT(read_again("classify", R"({"text": "abc", "label": "a"})",
                         {{"classify.labels", "[a, b]"}, {"output.keep_columns", "[label]"}}),
              IsEmpty());
}

}  // namespace
}  // namespace mgpu::jobs
