#include <cmath>
#include <regex>
#include <span>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/report/end_table.hpp>
#include <mgpu/report/error_colors.hpp>

namespace mgpu::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

PhaseTable two_ranks() {
  PhaseTable table;
  table.phases = {"other", "start-up", "forward", "evaluation"};
  table.ranks.resize(2);
  table.ranks[0].seconds = {{"other", 1}, {"start-up", 7}, {"forward", 72}, {"evaluation", 20}};
  table.ranks[1].seconds = {{"other", 21}, {"start-up", 7}, {"forward", 72}};
  for (RankPhases& rank : table.ranks)
    rank.wall_s = 100;
  table.wall_s = 100;
  return table;
}

RunSummary summary_of_two_ranks() {
  RunSummary summary;
  summary.name = "train_ad";
  summary.job = "train";
  summary.ranks = 2;
  summary.done = 50000;
  summary.total = 50000;
  summary.wall_s = 100;
  summary.phases = phase_rows(two_ranks());
  return summary;
}

std::string line_with(const std::string& text, const std::string& start) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(start)) return line;
  return "";
}

TEST(PhaseRowsTest, SharesSumToOneAndOtherIsLast) {
  const std::vector<PhaseRow> rows = phase_rows(two_ranks());

  double sum = 0;
  for (const PhaseRow& row : rows)
    sum += row.share;
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_EQ(rows.front().phase, "start-up");
  EXPECT_EQ(rows.back().phase, "other");
  EXPECT_EQ(rows.back().max_rank, 1);
  EXPECT_DOUBLE_EQ(rows.back().min_s, 1.0);
  EXPECT_DOUBLE_EQ(rows[2].mean_s, 10.0);
  EXPECT_EQ(rows[2].ranks_in_it, 1);
}

TEST(EndTableTest, RowsHaveTimeShareAndSpread) {
  const std::string text = end_table(summary_of_two_ranks());

  EXPECT_EQ(line_with(text, "---"),
            "--- finished: train_ad, 50000 of 50000 steps, 0:01:40 on 2 CPU ranks "
            "---------------------------");
  EXPECT_EQ(line_with(text, "  forward"), "  forward                1:12.0    72.0 %");
  EXPECT_EQ(line_with(text, "  evaluation"),
            "  evaluation             0:10.0    10.0 %     0:00.0 .. 0:20.0     rank 0 only");
  EXPECT_EQ(line_with(text, "  other"),
            "  other                  0:11.0    11.0 %     0:01.0 .. 0:21.0     rank 1 most");
}

TEST(EndTableTest, PrintedSharesSumToNinetyEightPercent) {
  const std::string text = end_table(summary_of_two_ranks());
  const std::regex share(R"(\s(\d+\.\d) %)");
  double sum = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), share), end; it != end; ++it)
    sum += std::stod((*it)[1]);
  EXPECT_GE(sum, 98.0);
  EXPECT_LE(sum, 102.0);
}

TEST(EndTableTest, PerformanceCountsPerGpu) {
  RunSummary summary = summary_of_two_ranks();
  summary.device = DeviceKind::cuda;
  summary.ranks = 8;
  summary.wall_s = 5400;
  summary.steps_per_second = 9.2593;
  summary.samples_per_second = 18963;
  const std::string text = end_table(summary);

  EXPECT_EQ(line_with(text, "Performance"),
            "Performance:   9.26 steps/s   18963 samples/s (2370 per GPU)   108.0 ms/step");
  EXPECT_THAT(text, HasSubstr("1:30:00 on 8 GPUs (12.0 GPU h) -"));
}

// The expected text is a fixed wording that must not change.
TEST(EndTableTest, GpuMemoryIsWordForWord) {
  RunSummary summary;
  const auto gib = [](double value) { return static_cast<std::uint64_t>(value * 1073741824.0); };
  summary.gpus = {{0, "n1", gib(45.23), gib(48.50), gib(80.0)}};
  EXPECT_EQ(memory_lines(summary),
            "GPU Memory Summary:\n"
            "  GPU 0: 45.23 GB allocated, 48.50 GB reserved, 80.00 GB total\n");
}

TEST(EndTableTest, OnTheCpuThereIsNoGpuLine) {
  RunSummary summary = summary_of_two_ranks();
  summary.host_peak_bytes = {100 << 20, 300 << 20};
  const std::string text = end_table(summary);

  EXPECT_THAT(text, HasSubstr("\nHost Memory Summary:\n"
                              "  peak 300.0 MiB on rank 1, 400.0 MiB over 2 ranks\n"));
  EXPECT_THAT(text, Not(HasSubstr("GPU")));
}

TEST(EndTableTest, ResultNotesAndPointersFollow) {
  RunSummary summary = summary_of_two_ranks();
  summary.result = "eval return 14.6";
  summary.notes = {{"15.4 % of the run was evaluation", "work.eval_every", "It is too much"}};
  summary.report_file = "outputs/a/latest/report.html";
  summary.tensorboard_folder = "runs/";
  summary.results_file = "outputs/a/latest/results.h5";
  summary.again_command = "mpirun -np 2 ./mgpu_spmd a.yaml";

  EXPECT_THAT(end_table(summary),
              EndsWith("Result:        eval return 14.6\n"
                       "NOTE: 15.4 % of the run was evaluation. It is too much.\n"
                       "look at:  outputs/a/latest/report.html\n"
                       "          tensorboard --logdir runs/\n"
                       "results:  outputs/a/latest/results.h5\n"
                       "again:    mpirun -np 2 ./mgpu_spmd a.yaml\n"));
}

TEST(EndTableTest, LastLineSaysHowItEnded) {
  RunSummary summary;
  EXPECT_EQ(last_line(summary), "mgpu_spmd: done, exit 0");
  summary.outcome = Outcome::incomplete;
  summary.exit = ExitCode::incomplete;
  EXPECT_EQ(last_line(summary), "mgpu_spmd: incomplete, exit 1");
  summary.outcome = Outcome::stopped;
  summary.exit = ExitCode::stopped;
  summary.resume_command = "the same command";
  EXPECT_EQ(last_line(summary), "mgpu_spmd: stopped, resume with the same command, exit 75");
}

TEST(EndTableTest, QuietRunsShowResultAndFolder) {
  RunSummary summary;
  summary.result = "loss 0.5";
  EXPECT_EQ(quiet_lines(summary, "/o/a/1"), "Result:        loss 0.5\nRun:           /o/a/1\n");
}

TEST(ErrorColorsTest, CodesCaretsAndHelpStandOut) {
  const std::string text =
      "error[E101]: unknown key\n  --> a.yaml:3:1\n  |\n3 | x: 1\n  | ^^ here\n  = help: y";
  EXPECT_EQ(
      color_error(text),
      "\x1b[1;31merror[E101]\x1b[0m: unknown key\n  \x1b[34m-->\x1b[0m a.yaml:3:1\n  |\n3 | x: 1"
      "\n  | \x1b[1;31m^^ here\x1b[0m\n  = \x1b[36mhelp\x1b[0m: y");
  EXPECT_EQ(color_error(""), "");
}

TEST(NotesTest, PhasesGiveTheFacts) {
  const NoteFacts facts = facts_of(phase_rows(two_ranks()));
  EXPECT_DOUBLE_EQ(facts.at("share/evaluation"), 0.10);
  EXPECT_DOUBLE_EQ(facts.at("rank/other"), 1.0);
  EXPECT_DOUBLE_EQ(facts.at("spread/forward"), 0.0);
  EXPECT_FALSE(facts.contains("spread/start-up"));
}

TEST(SummaryTest, JsonCarriesStatusNumbersAndNotes) {
  RunSummary summary = summary_of_two_ranks();
  summary.results = {{"eval_return", "return", 14.55, "", 1}, {"nan", "no number", std::nan("")}};
  summary.series["return_per_episode/late"] = {3.0, 14.55};
  summary.notes = {{"text", "key", "effect"}};

  const auto json = nlohmann::json::parse(summary_json(summary));

  EXPECT_EQ(json["schema"], RunSummary::kSchema);
  EXPECT_EQ(json["status"], "done");
  EXPECT_EQ(json["exit_code"], 0);
  EXPECT_EQ(json["results"]["eval_return"]["value"], 14.55);
  EXPECT_TRUE(json["results"]["nan"]["value"].is_null());
  EXPECT_EQ(json["series"]["return_per_episode/late"][1], 14.55);
  EXPECT_EQ(json["phases"][1]["phase"], "forward");
  EXPECT_EQ(json["notes"][0]["key"], "key");
  EXPECT_EQ(summary.results[0].text(), "14.6");
}

TEST(SummaryTest, TheExitCodeGivesTheOutcome) {
  EXPECT_EQ(outcome_of(ExitCode::done), Outcome::done);
  EXPECT_EQ(outcome_of(ExitCode::incomplete), Outcome::incomplete);
  EXPECT_EQ(outcome_of(ExitCode::stopped), Outcome::stopped);
  EXPECT_THROW(outcome_of(ExitCode::config), Error);
}

}  // namespace
}  // namespace mgpu::report
