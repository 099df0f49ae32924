#include <sstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/commands.hpp>
#include <mgpu/cluster/device_choice.hpp>

#include "support/project_folder.hpp"
#include "tiny_run.hpp"

namespace mgpu::app {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class RunChecksTest : public testing::Test {
protected:
  /// Runs --check, and returns its exit code. Expects the same code on all ranks. Keeps the output
  /// of rank 0 in printed_. Ranks: collective.
  ExitCode check(Options options) {
    options.action = Action::check;
    std::ostringstream out;
    const ExitCode code = run_checks(world_, options, out);
    EXPECT_EQ(out.str().empty(), world_.rank() != 0);
    printed_ = world_.broadcast(out.str(), 0);
    const auto value = static_cast<std::int32_t>(code);
    EXPECT_EQ(world_.all_reduce(value, cluster::ReduceOp::min), value);
    return code;
  }

  /// Returns options for the tiny job with `overrides`. Its output folder does not exist yet.
  Options tiny(std::vector<Override> overrides = {}) {
    Options options;
    options.config = folder_.write("tiny.yaml", test::kTinyConfig);
    options.overrides = std::move(overrides);
    options.overrides.push_back({"run.output", (folder_.path() / "outputs").string()});
    if (world_.size() == 3) options.overrides.push_back({"run.deterministic", "false"});
    return options;
  }

  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};
  std::string printed_;
};

TEST_F(RunChecksTest, AGoodConfigurationPassesAndLeavesNothingBehind) {
  EXPECT_EQ(check(tiny()), ExitCode::done);

  EXPECT_THAT(printed_,
              ContainsRegex("config .*tiny.yaml .*PASS   [0-9]+ keys, [0-9]+ not default"));
  EXPECT_THAT(printed_, ContainsRegex("files .*PASS   writable, .* free, at most .* needed"));
  EXPECT_THAT(printed_, ContainsRegex("ranks .* 1 node, mpi: as asked, on the CPU"));
  EXPECT_THAT(printed_, ContainsRegex("gpu .*SKIP"));
  EXPECT_THAT(printed_, ContainsRegex("memory .*PASS   memory of a node: .* of "));
  EXPECT_THAT(printed_, ContainsRegex(world_.size() == 1 ? "allreduce .*SKIP   one rank"
                                                         : "allreduce .*PASS   [0-9]+ MB/s"));
  EXPECT_THAT(printed_, ContainsRegex("HDF5 write and read back .*PASS   [0-9]+ MB/s"));
  EXPECT_THAT(printed_, ContainsRegex("restart .*PASS"));
  EXPECT_THAT(printed_, Not(HasSubstr("FAIL")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(RunChecksTest, TheInstallationIsCheckedWithoutAConfiguration) {
  Options options;
  options.overrides = {{"run.output", folder_.path().string()}, {"devices.backend", "mpi"}};

  EXPECT_EQ(check(options), ExitCode::done);

  EXPECT_THAT(printed_, ContainsRegex("config .*the installation"));
  EXPECT_THAT(printed_, ContainsRegex("restart .*PASS"));
  EXPECT_THAT(printed_, Not(HasSubstr("memory ")));
}

TEST_F(RunChecksTest, OneProcessChecksForTheRanksThatArePlanned) {
  if (world_.size() != 1) GTEST_SKIP() << "a launcher says how many ranks there are";
  EXPECT_EQ(check(tiny({{"devices.world", "2"}})), ExitCode::done);
  EXPECT_THAT(printed_, ContainsRegex("ranks .*checked for 2 ranks"));
  EXPECT_NE(check(tiny({{"devices.world", "3"}})), ExitCode::done);
  EXPECT_THAT(printed_, HasSubstr("error[E122]"));
}

TEST_F(RunChecksTest, MemoryOfOtherGpusIsCheckedForTheRanksOfTheKeys) {
  check(tiny({{"devices.backend", "auto"}, {"devices.gpu", "a10"}, {"devices.world", "4"}}));

  const std::string ranks = std::to_string(world_.size() == 1 ? 4 : world_.size());
  EXPECT_THAT(printed_, HasSubstr("plan against " + ranks + " x NVIDIA A10 "));
  EXPECT_THAT(printed_, ContainsRegex("memory .*PASS   GPU memory: .* of 22.5 GiB"));
}

TEST_F(RunChecksTest, RowsThatTheModelsFolderCannotEncodeFail) {
  const std::string rows =
      folder_.write("rows.jsonl", "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n");
  Options options;
  options.config = folder_.write("teacher.yaml", "schema: 1\njob: teacher\n");
  options.overrides = {
      {"model.path", (testing_support::project_folder() / "tests/lm/goldens/llama").string()},
      {"data.path", rows},
      {"run.output", (folder_.path() / "outputs").string()},
      {"devices.backend", "mpi"}};

  EXPECT_EQ(check(options), ExitCode::no_input);

  EXPECT_THAT(printed_, ContainsRegex("files .*rows.jsonl .*FAIL"));
  EXPECT_THAT(printed_, HasSubstr("error[E603]: a row with a text needs a tokenizer"));
}

TEST_F(RunChecksTest, AWrongConfigurationEndsTheCheckWith78) {
  EXPECT_EQ(check(tiny({{"train.max_stpes", "5", "argument 2", "train.max_stpes=5", 17}})),
            ExitCode::config);

  EXPECT_THAT(printed_, ContainsRegex("config .*FAIL   unknown key"));
  EXPECT_THAT(printed_, HasSubstr("did you mean"));
  EXPECT_THAT(printed_, HasSubstr("0 passed, 1 failed in "));
}

TEST_F(RunChecksTest, AMissingFileOfHistoriesIs66AndTheOtherChecksGoOn) {
  EXPECT_EQ(check(tiny({{"data.path", "/no/such/histories.h5"}})), ExitCode::no_input);

  EXPECT_THAT(printed_, ContainsRegex("files .*histories.h5 .*FAIL"));
  EXPECT_THAT(printed_, ContainsRegex("restart .*PASS"));
}

TEST_F(RunChecksTest, AnOutputThatCannotBeMadeIs73) {
  Options options = tiny();
  const std::string file = folder_.write("file", "");
  for (Override& given : options.overrides)
    if (given.key == "run.output") given.value = file + "/outputs";

  EXPECT_EQ(check(options), ExitCode::cannot_create);

  EXPECT_THAT(printed_, HasSubstr("the output folder is not writable"));
  EXPECT_THAT(printed_, ContainsRegex("restart .*SKIP   no folder to write to"));
}

TEST_F(RunChecksTest, NcclWithoutGpusIs69) {
  if (!cluster::visible_gpus().gpus.empty()) GTEST_SKIP() << "there are GPUs here";

  EXPECT_EQ(check(tiny({{"devices.backend", "nccl"}})), ExitCode::unavailable);

  EXPECT_THAT(printed_, ContainsRegex("ranks .*FAIL   no GPU is visible to rank 0"));
}

TEST_F(RunChecksTest, JsonIsOneListAndNothingElse) {
  Options options = tiny();
  options.json = true;

  EXPECT_EQ(check(options), ExitCode::done);

  EXPECT_TRUE(printed_.starts_with("[\n")) << printed_;
  EXPECT_TRUE(printed_.ends_with("]\n")) << printed_;
}

}  // namespace
}  // namespace mgpu::app
