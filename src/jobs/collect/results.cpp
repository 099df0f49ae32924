#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/estimate.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "judge.hpp"
#include "page.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

double share_of(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

/// Counts over the questions that have solutions. Only `left_out` counts the other questions.
struct CollectCounts {
  bool has_agents = false;       // steps are the work of agents, without rollouts
  std::int64_t voted_right = 0;  // questions whose vote is right
  std::int64_t questions = 0;
  std::int64_t paths = 0;    // solutions, and rollouts in which OmegaSearch searched
  std::int64_t right = 0;    // right sampled solutions
  std::int64_t steps = 0;    // nodes without roots
  std::int64_t steps_0 = 0;  // steps with value 0
  std::int64_t steps_1 = 0;  // steps with value 1
  std::int64_t rollouts = 0;
  std::int64_t sampled = 0;      // sampled solutions
  std::int64_t solved = 0;       // questions with a right solution
  std::vector<double> shares{};  // share of right solutions of each question
  std::int64_t left_out = 0;     // questions without solutions
};

/// Returns the number of sampled solutions of each question:
/// - With agents, it is the value of column n_paths. This value is less than collect.num_paths if
///   the judger continues fewer paths, such as after pruning or merging.
/// - Without agents, it is collect.num_paths. Column n_paths cannot be used, because with
///   collect.label=omega_prm it also counts rollouts in which OmegaSearch searched.
///
/// The element of a question without solutions has no meaning.
std::vector<std::int64_t> sampled_of(const store::ReadTable& samples, const CollectKeys& keys) {
  std::vector<std::int64_t> sampled;
  for (const std::int32_t paths : samples.column("n_paths").values<std::int32_t>())
    sampled.push_back(keys.agents.is_used ? paths : keys.num_paths);
  return sampled;
}

void count_votes(const store::ReadTable& samples, CollectCounts& counts) {
  counts.has_agents = true;
  for (const std::uint8_t right : samples.column("vote_right").values<std::uint8_t>())
    counts.voted_right += right;
}

/// Counts paths, steps and rollouts. `sampled` is the result of sampled_of().
CollectCounts counts_of(const store::ReadTable& samples, std::span<const std::int64_t> sampled) {
  const auto rollouts = samples.column("n_rollouts").values<std::int64_t>();
  const auto paths = samples.column("n_paths").values<std::int32_t>();
  const auto right = samples.column("n_right").values<std::int32_t>();
  const auto steps = samples.column("n_steps").values<std::int32_t>();
  const auto steps_0 = samples.column("n_steps_0").values<std::int32_t>();
  const auto steps_1 = samples.column("n_steps_1").values<std::int32_t>();
  CollectCounts counts;
  for (std::size_t q = 0; q < paths.size(); ++q) {
    if (paths[q] == 0) {
      ++counts.left_out;
      continue;
    }
    ++counts.questions;
    counts.paths += paths[q];
    counts.right += right[q];
    counts.steps += steps[q];
    counts.steps_0 += steps_0[q];
    counts.steps_1 += steps_1[q];
    counts.rollouts += rollouts[q];
    counts.sampled += sampled[q];
    counts.solved += right[q] > 0 ? 1 : 0;
    counts.shares.push_back(share_of(right[q], sampled[q]));
  }
  return counts;
}

/// Adds the result line and the numbers of the end table to `outcome`.
void add_numbers(const CollectCounts& counts, double rate, run::JobOutcome& outcome) {
  const Estimate right = estimate_mean(counts.shares);
  const std::int64_t between = counts.steps - counts.steps_0 - counts.steps_1;
  const auto add = [&](const char* key, const char* label, double value, const char* unit,
                       int decimals, std::optional<Estimate> estimate = {}) {
    outcome.results.push_back({key, label, value, unit, decimals, std::move(estimate)});
  };
  add("paths", "sampled solutions", static_cast<double>(counts.sampled), "", 0);
  add("right", "share of right solutions", right.mean, "", 4, right);
  add("solved", "share of questions with a right solution",
      share_of(counts.solved, counts.questions), "", 4);
  if (counts.has_agents)
    add("vote_right", "share of questions whose vote is right",
        share_of(counts.voted_right, counts.questions), "", 4);
  add("steps", "steps of the solutions", static_cast<double>(counts.steps), "", 0);
  add("steps_0", "steps with value 0", static_cast<double>(counts.steps_0), "", 0);
  add("steps_between", "steps with a value between 0 and 1", static_cast<double>(between), "", 0);
  add("steps_1", "steps with value 1", static_cast<double>(counts.steps_1), "", 0);
  if (!counts.has_agents)
    add("rollouts", "rollouts of the steps", static_cast<double>(counts.rollouts), "", 0);
  outcome.result =
      report::counted(counts.questions, "question") + ", " + report::grouped(counts.sampled) +
      report::text_of(" paths, %.1f %% right", 100.0 * share_of(counts.right, counts.sampled)) +
      (counts.has_agents ? report::text_of(", vote %.1f %%",
                                           100.0 * share_of(counts.voted_right, counts.questions))
                         : "") +
      "; " + report::counted(counts.steps, "step") + ": " + report::grouped(counts.steps_0) +
      " of value 0, " + report::grouped(between) + " between, " + report::grouped(counts.steps_1) +
      " of value 1" + (counts.has_agents ? "" : "; " + report::counted(counts.rollouts, "rollout"));
  if (rate <= 0.0) return;
  add("tokens_per_second", "tokens per second, all ranks", rate, "tokens/s", 1);
  outcome.result += "; " + report::rate_text(rate) + " tokens/s";
}

/// Warns about questions that could not be used, and adds their number to the results. If the
/// share of these questions is above output.max_failed, sets the exit of the run to
/// ExitCode::incomplete.
void judge_questions(run::RunContext& run, const CollectCounts& counts, run::JobOutcome& outcome) {
  if (counts.left_out == 0) return;
  outcome.results.push_back(
      {"failed_samples", "questions that failed", static_cast<double>(counts.left_out), "", 0});
  run.log.event(
      {"warn",
       {{"text", report::grouped(counts.left_out) + " questions failed: column `reason` of " +
                     run.store.result_file + " says why"}}});
  if (share_of(counts.left_out, outcome.total) > run.store.max_failed)
    outcome.exit = ExitCode::incomplete;
}

/// The row numbers of the questions that report.html draws.
struct ShownRows {
  std::size_t easiest = 0;
  std::size_t hardest = 0;
  std::size_t most_divided = 0;
};

/// Returns the rows of three questions: those with the largest and the smallest share of right
/// solutions, and the one whose share is closest to one half. Ties go to the first question.
/// Returns nullopt if no question has solutions. `sampled` is the result of sampled_of().
std::optional<ShownRows> shown_rows(const store::ReadTable& samples,
                                    std::span<const std::int64_t> sampled) {
  const auto paths = samples.column("n_paths").values<std::int32_t>();
  const auto right = samples.column("n_right").values<std::int32_t>();
  std::vector<std::size_t> used;
  for (std::size_t q = 0; q < paths.size(); ++q)
    if (paths[q] > 0) used.push_back(q);
  if (used.empty()) return std::nullopt;
  const auto share = [&](std::size_t q) { return share_of(right[q], sampled[q]); };
  const auto division = [&](std::size_t q) { return std::abs(share(q) - 0.5); };
  return ShownRows{*std::ranges::max_element(used, {}, share),
                   *std::ranges::min_element(used, {}, share),
                   *std::ranges::min_element(used, {}, division)};
}

/// Reads the trees from results.h5, and adds them to the charts. Only rank 0 calls this function.
/// `sampled` is the result of sampled_of().
void add_trees(const std::filesystem::path& path, const store::ReadTable& samples,
               std::span<const std::int64_t> sampled, const CollectKeys& keys,
               CollectPlots& plots) {
  const std::optional<ShownRows> rows = shown_rows(samples, sampled);
  if (!rows) return;
  const TreeReader trees(path);
  const bool has_rollouts = !keys.agents.is_used && keys.label != StepLabel::omega_prm;
  for (std::int64_t row = 0; row < trees.rows(); ++row) {
    const ReadTree tree = trees.read(row);
    plots.add(tree, sampled[static_cast<std::size_t>(row)], dataset_of(keys.rows));
    if (has_rollouts) plots.add_rollouts(tree, keys.label);
  }
  const auto questions = samples.column("question_index").values<std::int64_t>();
  const auto show = [&](const char* name, std::size_t row) {
    for (CollectPlots::Shown& shown : plots.shown)
      if (shown.question == questions[row]) {
        shown.name += std::string(" and ") + name;
        return;
      }
    plots.shown.push_back({name, questions[row], trees.read(static_cast<std::int64_t>(row))});
  };
  show("easiest", rows->easiest);
  show("hardest", rows->hardest);
  show("most divided", rows->most_divided);
}

/// Returns the attributes of the HDF5 group `collect` of results.h5.
std::vector<store::Attribute> attributes_of(const CollectKeys& keys) {
  if (!keys.agents.is_used)
    return {{"label", name_of(keys.label)},
            {"num_paths", keys.num_paths},
            {"rollouts", keys.rollouts},
            {"temperature", keys.temperature}};
  return {{"method", name_of(keys.agents.method)},
          {"num_paths", keys.num_paths},
          {"temperature", keys.temperature}};
}

}  // namespace

store::SealRequest collect_request(const run::SealPlace& place, const CollectInputs& inputs) {
  store::SealRequest request = run::seal_request(place, "collect", inputs.keys.run.part);
  if (const int ranks = inputs.keys.rows.model.summing_ranks(); ranks > 1)
    request.groups.front().attributes.push_back({"ranks_of_a_model", std::int64_t{ranks}});
  request.groups.push_back({"collect", attributes_of(inputs.keys)});
  request.tables = {{question_table(inputs), inputs.phase, inputs.keys.run.chunk_size}};
  return request;
}

void add_collect_results(run::RunContext& run, const CollectInputs& inputs,
                         const std::vector<run::GroupWork>& groups, run::JobOutcome& outcome) {
  const auto reading = run.clock.enter("results");
  const cluster::Group& world = run.topology.world();
  const std::filesystem::path path = run.directory.path() / run.store.result_file;
  const store::ReadTable samples = store::read_table(world, path, "samples");
  const std::vector<std::int64_t> sampled = sampled_of(samples, inputs.keys);
  CollectCounts counts = counts_of(samples, sampled);
  if (inputs.keys.agents.is_used) count_votes(samples, counts);
  const run::GroupSpeeds speeds = run::speeds_of(groups, &run::GroupWork::output_tokens);
  CollectPlots plots;
  plots.questions = counts.questions;
  plots.paths = counts.sampled;
  plots.right = counts.right;
  plots.steps = counts.steps;
  plots.settings = collecting_text(inputs.keys);
  for (const run::GroupWork& group : groups)
    plots.questions_of_copies.push_back(group.rows);
  cluster::run_together(world, [&] {
    if (world.rank() == 0 && run.store.text) add_trees(path, samples, sampled, inputs.keys, plots);
  });
  if (counts.paths > 0) add_numbers(counts, speeds.total, outcome);
  if (counts.paths == 0) outcome.result = "no question could be used";
  judge_questions(run, counts, outcome);
  outcome.page = std::make_unique<CollectPage>(std::move(plots));
}

}  // namespace mgpu::jobs
