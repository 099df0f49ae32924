// Tests which earlier runs an experiment reuses, and which orders its ranks get.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>

#include "jobs/experiment/coordinator.hpp"
#include "jobs/experiment/earlier_runs.hpp"
#include "jobs/experiment/stage_end.hpp"
#include "store/run_dir/run_record.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::config_of;
using testing_support::Keys;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// Stages that train on the histories of a file, and a folder for their runs.
class ExperimentRunsTest : public testing::Test {
protected:
  ExperimentRunsTest() { write(data(), "rows"); }

  fs::path data() const { return folder_.path() / "histories.h5"; }
  StagePlace place() const { return {folder_.path() / "stages"}; }
  fs::path states_file() const { return folder_.path() / "job_states.json"; }

  /// Returns a stage that reads the file, unless `more` has other keys.
  Stage stage(const std::string& name, const Keys& more = {}) const {
    Keys keys = {{"job", "train"}, {"data.path", data()}};
    for (const auto& [key, value] : more)
      keys[key] = value;
    return {.name = name, .config = config_of(keys), .file = {}, .output = {}};
  }

  PreparedStage prepare(const Stage& stage) const {
    return prepare_stage(stage, place(), {}, /*checks_files=*/false);
  }

  /// Makes a finished run of the stage, with all its files.
  fs::path make_run(const Stage& stage, const std::string& stamp,
                    ExitCode exit = ExitCode::done) const {
    const fs::path run = place().folder / stage.name / stamp;
    write(run / "results.h5", "");
    write(run / kOutcomeFile, to_text(StageEnd{.stage = 9, .result = "learned"}));
    fs::create_directories(run / "attempts");
    store::RunRecord record;
    record.name = stage.name;
    record.job = "train";
    record.identity = prepare(stage).identity;
    record.finished = true;
    record.write(run);
    store::AttemptRecord attempt;
    attempt.attempt = 1;
    attempt.exit = exit;
    attempt.write(run);
    return run;
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(ExperimentRunsTest, TheNewestFinishedRunIsReused) {
  const Stage stage = this->stage("s");
  EXPECT_EQ(prepare(stage).earlier, "");
  make_run(stage, "2026-01-01");
  const fs::path newer = make_run(stage, "2026-01-02");
  make_run(stage, "2026-01-03", ExitCode::incomplete);
  write(place().folder / "s" / "2026-01-04" / "run.json", "{damaged");
  fs::create_directory_symlink(newer, place().folder / "s" / "latest");
  EXPECT_EQ(prepare(stage).earlier, newer);
  EXPECT_EQ(prepare(this->stage("other")).earlier, "");
}

TEST_F(ExperimentRunsTest, ARunWithoutItsFilesIsNotReused) {
  Stage stage = this->stage("s");
  const fs::path run = make_run(stage, "2026-01-01");
  stage.exports = {"jsonl"};
  EXPECT_EQ(prepare(stage).earlier, "");
  write(run / "results.jsonl", "");
  EXPECT_EQ(prepare(stage).earlier, run);
  fs::remove(run / kOutcomeFile);
  EXPECT_EQ(prepare(stage).earlier, "");
  write(run / kOutcomeFile, "{}");
  fs::remove(run / "results.h5");
  EXPECT_EQ(prepare(stage).earlier, "");
}

TEST_F(ExperimentRunsTest, AnUnfinishedRunIsNotReused) {
  const Stage stage = this->stage("s");
  const fs::path run = make_run(stage, "2026-01-01");
  store::RunRecord record = store::RunRecord::read(run);
  record.finished = false;
  record.write(run);
  EXPECT_EQ(prepare(stage).earlier, "");
}

TEST_F(ExperimentRunsTest, OtherKeysAndChangedFilesGiveAnotherIdentity) {
  const std::string identity = prepare(stage("s")).identity;
  EXPECT_EQ(prepare(stage("s")).identity, identity);
  EXPECT_EQ(prepare(stage("other")).identity, identity);  // the name is not a setting
  EXPECT_NE(prepare(stage("s", {{"run.seed", "8"}})).identity, identity);
  const auto changed = fs::last_write_time(data());
  fs::last_write_time(data(), changed + std::chrono::seconds(1));
  EXPECT_NE(prepare(stage("s")).identity, identity);
  fs::last_write_time(data(), changed);
  EXPECT_EQ(prepare(stage("s")).identity, identity);
  write(data(), "more rows");
  fs::last_write_time(data(), changed);
  EXPECT_NE(prepare(stage("s")).identity, identity);
}

TEST_F(ExperimentRunsTest, FilesOfOtherStagesCountByTheirPathOnly) {
  Stage reader = stage("reader");
  reader.inputs = {{"data.path", 0, "histories.h5"}};
  const fs::path run = folder_.path() / "run";
  const auto identity = [&] {
    return prepare_stage(reader, place(), {{0, run}}, /*checks_files=*/false).identity;
  };
  const std::string without_file = identity();
  write(run / "histories.h5", "rows");
  EXPECT_EQ(identity(), without_file);
  EXPECT_NE(prepare_stage(reader, place(), {{0, run / "x"}}, false).identity, without_file);
}

TEST_F(ExperimentRunsTest, PlansSayWhyAStageIsNew) {
  std::vector<Stage> stages = {stage("last"), stage("first"), stage("alone")};
  stages[0].after = {1};
  std::vector<StagePlan> plans = stage_plans(stages, place());
  EXPECT_EQ(plans[0].text, "new, because stage first is new");
  EXPECT_EQ(plans[1].text, "new, because " + (place().folder / "first").string() +
                               " has no finished run with these settings and files");
  const fs::path first = make_run(stages[1], "2026-01-01");
  plans = stage_plans(stages, place());
  EXPECT_THAT(plans[0].text, HasSubstr("last has no finished run"));
  EXPECT_EQ(plans[1].text, "reused from " + first.string());
  const fs::path last = make_run(stages[0], "2026-01-01");
  EXPECT_EQ(stage_plans(stages, place())[0].text, "reused from " + last.string());
}

// --- the coordinator -------------------------------------------------------------------------

/// The ranks of an experiment as the coordinator sees them.
class Ranks {
public:
  Ranks(const StageGraph& graph, int ranks, const ExperimentConfig& keys, const StagePlace& place,
        const fs::path& states_file, NodeMemory memory = {})
      : coordinator_(graph, ranks, keys, place, std::move(memory), states_file) {}

  /// Returns the orders that a request gives, as "RANK:STAGE" or "RANK:end".
  std::vector<std::string> ask(int rank, const std::string& request = "") {
    std::vector<std::string> told;
    for (const auto& answer : coordinator_.take(rank, request)) {
      const StageOrder order = order_of(answer.text);
      told.push_back(std::to_string(answer.rank) + ":" +
                     (order.is_end ? "end" : std::to_string(order.stage)));
    }
    return told;
  }

  std::vector<std::string> tell(int rank, std::size_t stage, ExitCode exit = ExitCode::done) {
    return ask(rank, to_text(StageEnd{.stage = stage, .exit = exit, .result = "so"}));
  }

  Coordinator& operator*() { return coordinator_; }

private:
  Coordinator coordinator_;
};

std::vector<StageState> states_of(Ranks& ranks) {
  std::vector<StageState> states;
  for (const StageRecord& record : (*ranks).records())
    states.push_back(record.state);
  return states;
}

/// Makes three stages that read no file. Stage 1 waits for stage 0.
class CoordinatorTest : public ExperimentRunsTest {
protected:
  CoordinatorTest() {
    for (const char* name : {"s0", "s1", "s2"}) {
      graph_.stages.push_back(stage(name, {{"data.path", "null"}}));
      graph_.stages.back().sizes = {1};
    }
    graph_.stages[1].after = {0};
  }

  Ranks start(int ranks) { return {graph_, ranks, keys_, place(), states_file()}; }

  StageGraph graph_;
  ExperimentConfig keys_;
};

TEST_F(CoordinatorTest, StagesBeginWhenAllRanksHaveAsked) {
  Ranks ranks = start(2);
  EXPECT_THAT(ranks.ask(1), IsEmpty());
  EXPECT_THAT(ranks.ask(0), ElementsAre("0:0", "1:2"));
  EXPECT_THAT(ranks.tell(1, 2), IsEmpty());  // stage 1 waits for stage 0
  EXPECT_THAT(ranks.tell(0, 0), ElementsAre("0:1"));
  EXPECT_THAT(ranks.tell(0, 1), ElementsAre("0:end", "1:end"));
  EXPECT_THAT(states_of(ranks), ElementsAre(StageState::done, StageState::done, StageState::done));
  EXPECT_EQ((*ranks).records()[1].end.result, "so");
}

TEST_F(CoordinatorTest, AFailedStageBeginsAgainAsOftenAsTheKeySays) {
  keys_.retries = 2;
  Ranks ranks = start(1);
  EXPECT_THAT(ranks.ask(0), ElementsAre("0:0"));
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), ElementsAre("0:0"));
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), ElementsAre("0:0"));
  EXPECT_EQ((*ranks).records()[0].end.result, "");
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), ElementsAre("0:2"));
  EXPECT_THAT(ranks.tell(0, 2), ElementsAre("0:end"));
  EXPECT_THAT(states_of(ranks),
              ElementsAre(StageState::failed, StageState::left_out, StageState::done));
  const std::vector<Event> events = (*ranks).take_events();
  EXPECT_EQ(std::ranges::count(events, "warn", &Event::word), 2);
  EXPECT_THAT((*ranks).take_events(), IsEmpty());
}

TEST_F(CoordinatorTest, AStageThatDoesNotFitWaitsAndIsNamedOnce) {
  const auto of_rank = [](std::size_t stage) { return stage == 2 ? 8U : 4U; };
  Ranks ranks(graph_, 2, keys_, place(), states_file(), {{0, 0}, {10}, of_rank});
  ranks.ask(0);
  EXPECT_THAT(ranks.ask(1),
              ElementsAre("0:0"));  // stage 0 needs 4 of 10 bytes, and stage 2 needs 8
  EXPECT_THAT(ranks.tell(0, 0), ElementsAre("0:1"));
  EXPECT_THAT(ranks.tell(0, 1), ElementsAre("0:2"));
  std::vector<std::string> notes;
  for (const Event& event : (*ranks).take_events())
    if (event.word == "note") notes.push_back(std::get<std::string>(event.fields.at(0).second));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("stage s2 waits for memory: a rank needs 8 B")));
}

TEST_F(CoordinatorTest, ASoftStopIsNoFailure) {
  keys_.retries = 2;
  Ranks ranks = start(1);
  ranks.ask(0);
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::stopped), ElementsAre("0:end"));
  EXPECT_THAT(states_of(ranks),
              ElementsAre(StageState::stopped, StageState::waiting, StageState::waiting));
}

TEST_F(CoordinatorTest, AFailureMayEndTheExperiment) {
  keys_.stops_on_failure = true;
  Ranks ranks = start(2);
  ranks.ask(0);
  EXPECT_THAT(ranks.ask(1), ElementsAre("0:0", "1:2"));
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), IsEmpty());  // stage 2 still runs
  EXPECT_THAT(ranks.tell(1, 2), ElementsAre("0:end", "1:end"));
}

TEST_F(CoordinatorTest, NoStageBeginsAgainAfterAFailureHasEndedTheExperiment) {
  keys_.stops_on_failure = true;
  keys_.retries = 1;
  Ranks ranks = start(2);
  ranks.ask(0);
  EXPECT_THAT(ranks.ask(1), ElementsAre("0:0", "1:2"));
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), ElementsAre("0:0"));
  EXPECT_THAT(ranks.tell(0, 0, ExitCode::data), IsEmpty());
  EXPECT_THAT(ranks.tell(1, 2, ExitCode::data), ElementsAre("0:end", "1:end"));
  EXPECT_THAT(states_of(ranks),
              ElementsAre(StageState::failed, StageState::left_out, StageState::failed));
  EXPECT_EQ((*ranks).records()[2].end.exit, ExitCode::data);
}

TEST_F(CoordinatorTest, AStageWithAMissingFileFailsBeforeItBegins) {
  graph_.stages[0] = stage("s0", {{"data.path", (folder_.path() / "nothing.h5").string()}});
  graph_.stages[0].sizes = {1};
  Ranks ranks = start(1);
  EXPECT_THAT(ranks.ask(0), ElementsAre("0:2"));
  const StageRecord& first = (*ranks).records()[0];
  EXPECT_EQ(first.state, StageState::failed);
  EXPECT_EQ(first.end.exit, ExitCode::no_input);
  EXPECT_THAT(first.end.error, HasSubstr("nothing.h5"));
  const auto states = formats::parse_json_object(read_file(states_file()));
  const auto& stages = *states.at("stages").list();
  EXPECT_EQ(stages[0].get<std::string>("state"), "failed");
  EXPECT_EQ(stages[1].get<std::string>("state"), "left out");
  EXPECT_EQ(stages[2].get<std::string>("state"), "running");
}

TEST_F(CoordinatorTest, AnEarlierRunTakesThePlaceOfAStage) {
  const fs::path run = make_run(graph_.stages[0], "2026-01-01");
  Ranks ranks = start(1);
  EXPECT_THAT(ranks.ask(0), ElementsAre("0:1"));
  const StageRecord& first = (*ranks).records()[0];
  EXPECT_EQ(first.state, StageState::reused);
  EXPECT_EQ(first.end.stage, 0U);  // not 9, its index in the earlier experiment
  EXPECT_EQ(first.end.directory, run.string());
  EXPECT_EQ(first.end.result, "learned");
}

}  // namespace
}  // namespace mgpu::jobs
