#include <cstdlib>
#include <ctime>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/app/commands.hpp>

#include "support/project_folder.hpp"

namespace mgpu::app {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string plan(const std::string& detail, const std::vector<Override>& overrides) {
  Options options;
  options.action = Action::plan;
  options.detail = detail;
  options.config = (testing_support::project_folder() / "conf/train/quickstart.yaml").string();
  options.overrides = overrides;
  std::ostringstream out;
  EXPECT_EQ(print_plan(options, FileProvider::alone(), out), ExitCode::done);
  return out.str();
}

TEST(PrintPlanTest, SaysWhoDoesWhatAndWhatItTakesWithinASecond) {
  const std::clock_t begin = std::clock();  // CPU time: other programs do not count
  const std::string text = plan("text", {{"devices.backend", "mpi"}, {"devices.world", "2"}});
  const std::clock_t elapsed = std::clock() - begin;

  EXPECT_THAT(text, HasSubstr("plan for quickstart on 2 CPU ranks"));
  EXPECT_THAT(text, HasSubstr("ids 0 .. 2,207  (2,208)"));  // 69 of 137 chunks of histories
  EXPECT_THAT(text, HasSubstr("ids 16 .. 31  (16)"));       // the second half of a batch of 32
  EXPECT_THAT(text, HasSubstr("memory of the fullest rank"));
  EXPECT_THAT(text, HasSubstr("guess: "));
  EXPECT_THAT(text, HasSubstr("free disk"));
  EXPECT_LT(elapsed, CLOCKS_PER_SEC);
}

TEST(PrintPlanTest, PlansForACardThatIsNotHere) {
  const std::string text = plan("text", {{"devices.gpu", "a100_80gb"}, {"devices.world", "4"}});

  EXPECT_THAT(text, HasSubstr("on 4 GPUs"));
  EXPECT_THAT(text, HasSubstr("NVIDIA A100 80GB"));
  EXPECT_THAT(text, HasSubstr("of 79.3 GiB"));
}

TEST(PrintPlanTest, SharesOfAnyNumberOfRanksCoverAllIds) {
  for (const int ranks : {1, 2, 4}) {
    const Json json = Json::parse(
        plan("json", {{"devices.backend", "mpi"}, {"devices.world", std::to_string(ranks)}}));

    std::map<std::string, std::int64_t> next;
    for (const Json& share : json.at("shares")) {
      std::int64_t& first = next[share.at("where")];
      EXPECT_EQ(share.at("first"), first) << share;
      first += share.at("count").get<std::int64_t>();
    }
    EXPECT_EQ(next["histories"], 73 * 60);
    EXPECT_EQ(next["batch"], 32);
    EXPECT_EQ(next["evaluation"], 3 * 8 * 32);
  }
}

TEST(PrintPlanTest, RulesBetweenKeysAndRanksAreChecked) {
  try {
    plan("text", {{"devices.backend", "mpi"}, {"devices.world", "3"}});
    FAIL() << "three ranks share four lanes";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E122");
  }
}

TEST(PrintPlanTest, OnlyTheFirstRankOfALaunchPrints) {
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  const std::string later = plan("text", {{"devices.backend", "mpi"}});
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  const std::string first = plan("text", {{"devices.backend", "mpi"}});
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");

  EXPECT_EQ(later, "");
  EXPECT_THAT(first, HasSubstr("on 4 CPU ranks"));
}

std::string refusal(const std::vector<Override>& overrides, ExitCode exit) {
  try {
    plan("text", overrides);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), exit);
    std::string text = render(failure.report());
    const std::string source = testing_support::project_folder().string() + "/";
    if (const auto at = text.find(source); at != std::string::npos) text.erase(at, source.size());
    return text;
  }
  ADD_FAILURE() << "not refused";
  return "";
}

/// Parses arguments as the shell gives them, and returns their overrides.
std::vector<Override> typed(const std::vector<std::string>& arguments) {
  std::vector<Override> overrides;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    overrides.push_back({argument.substr(0, equals), argument.substr(equals + 1), "command line",
                         argument, static_cast<int>(equals) + 2});
  }
  return overrides;
}

TEST(PrintPlanTest, RefusesAMissingFileOfHistories) {
  EXPECT_THAT(refusal(typed({"data.path=/no/such/histories.h5"}), ExitCode::no_input),
              HasSubstr("error[E603]: there is no such file: /no/such/histories.h5"));
}

TEST(PrintPlanTest, RefusesNamesTogetherWithOtherErrors) {
  const std::string text =
      refusal(typed({"run.name=a b", "output.file=run.h5", "output.compression=gzip:10",
                     "train.max_step=3", "devices.backend=mpi"}),
              ExitCode::config);
  for (const char* part : {"`run.name` is \"a b\"", "becomes a file name: letters, digits, _ . + -",
                           "another file of the run has this name", "did you mean `gzip:1`?",
                           "unknown key `train.max_step`"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(refusal(typed({"output.file=ckpt"}), ExitCode::config),
              HasSubstr("an HDF5 file: its name ends in .h5"));
}

TEST(PrintPlanTest, RefusesAResultFileWithTheNameOfAnotherFileOfTheRecipe) {
  const std::string reference = "output.file=reference.h5";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"output.file=histories.h5"},
        {"train.recipe=dpo", "model.path=/model", "data.path=/rows.jsonl", reference},
        {"train.recipe=kto", "model.path=/model", "data.path=/rows.jsonl", reference}})
    EXPECT_THAT(refusal(typed(arguments), ExitCode::config),
                HasSubstr("error[E107]: another file of the run has this name"));
}

TEST(PrintPlanTest, ShowsAllRulesBetweenKeysThatAreBrokenEachAtItsPlace) {
  const std::string text =
      refusal(typed({"model.tf_n_head=3", "model.n_transit=10", "run.deterministic=layout",
                     "train.gradient_accumulation_steps=2", "train.lanes=6", "devices.backend=mpi",
                     "devices.gpus_per_model=2"}),
              ExitCode::config);
  EXPECT_EQ(text, R"(error[E107]: model.tf_n_embd is not a multiple of model.tf_n_head (3)
  --> conf/train/quickstart.yaml:8:14
  |
8 |   tf_n_embd: 64
  |              ^^ `model.tf_n_embd` is set here

error[E124]: `train.gradient_accumulation_steps` has no meaning with `run.deterministic: layout`, where lanes fix the passes
  --> command line: train.gradient_accumulation_steps=2
                                                      ^ `train.gradient_accumulation_steps` is set here
  = help: train.lanes cuts the batch; remove this key

error[E122]: `train.lanes` is 6, but `run.deterministic: layout` sums lanes in a binary tree and needs a power of two
  --> command line: train.lanes=6
                                ^ `train.lanes` is set here
  = help: train.lanes=8

error[E131]: a context of 10 steps shows less than two episodes of 20, so nothing can be learned from one to the next
  --> command line: model.n_transit=10
                                    ^^ `model.n_transit` is set here
  = help: model.n_transit=40 and data.episodes=2 are the least

error[E125]: job train does not shard its model: one GPU holds it
  --> command line: devices.gpus_per_model=2
                                           ^ `devices.gpus_per_model` is set here
  = help: devices.gpus_per_model=1)");
}

TEST(PrintPlanTest, KeysOfLanguageModelsMeanNothingToAlgorithmDistillation) {
  for (const char* key :
       {"data.eval_path=held_out.jsonl", "data.synthetic_texts=100", "data.columns.text=body",
        "data.on_bad_row=mark", "train.seq_len=256", "train.gradient_checkpointing=true"}) {
    const std::string name = std::string(key).substr(0, std::string(key).find('='));
    EXPECT_THAT(refusal(typed({key}), ExitCode::config),
                HasSubstr("error[E124]: `" + name + "` has no meaning for Algorithm Distillation"));
  }
  EXPECT_EQ(refusal(typed({"train.seq_len=256"}), ExitCode::config),
            R"(error[E124]: `train.seq_len` has no meaning for Algorithm Distillation
  --> command line: train.seq_len=256
                                  ^^^ `train.seq_len` is set here
  = help: remove it, or train a language model: model.path=FOLDER or model.init=FOLDER)");
}

TEST(PrintPlanTest, SharesThatRanksCannotHaveAreShownAtTheirKey) {
  const std::string text = refusal(typed({"train.global_batch_size=2", "run.deterministic=false",
                                          "devices.world=3", "devices.backend=mpi"}),
                                   ExitCode::config);
  EXPECT_EQ(text,
            R"(error[E123]: 3 ranks for `train.global_batch_size` 2: some would have nothing to do
  --> command line: train.global_batch_size=2
                                            ^ `train.global_batch_size` is set here
  = help: train.global_batch_size=3)");
}

TEST(PrintPlanTest, SaysHowOtherNamesAreRead) {
  const std::vector<Override> names = typed({"num_workers=4", "devices.backend=mpi"});

  EXPECT_THAT(plan("text", names), HasSubstr("note: command line: `num_workers` has no effect: "));
  EXPECT_EQ(Json::parse(plan("json", names)).at("notes").size(), 1U);
}

}  // namespace
}  // namespace mgpu::app
