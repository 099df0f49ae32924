#include "results.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/model_keys.hpp>

#include "plots.hpp"
#include "run_speeds.hpp"
#include "small_tables.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

store::AttributeGroup facts_of(const ClassifyInputs& inputs) {
  const ClassifyConfig& config = inputs.config;
  std::string labels;
  for (const std::string& label : config.labels)
    labels += (labels.empty() ? "" : "\n") + label;
  return {"classify",
          {{"labels", labels},
           {"positive", static_cast<std::int64_t>(config.positive)},
           {"strategy", inputs.strategy.name},
           {"score", config.generates ? "generate" : "label_logprob"},
           {"normalize", config.is_mean ? "mean" : "sum"},
           {"max_length", inputs.max_length()}}};
}

void fill_speeds(const std::vector<run::GroupWork>& groups, ClassifyPlots& plots) {
  run::GroupSpeeds speeds = run::speeds_of(groups, &run::GroupWork::rows);
  plots.samples_per_second = std::move(speeds.of_groups);
  plots.total_samples_per_second = speeds.total;
}

/// Adds the speeds that the page compares: that of this run, and those of comparable runs whose
/// directories are in the same parent folder. This run replaces an older run with the same number
/// of ranks, the same number of ranks per model copy and the same batch size.
/// Ranks: local; only rank 0 calls this function.
void fill_runs(const run::RunContext& run, const ClassifyInputs& inputs, std::int64_t batch,
               ClassifyPlots& plots) {
  plots.run_key = crc32c(run.config.identity(), inputs.phase);
  plots.runs = speeds_of_other_runs(run.directory.path(),
                                    {plots.run_key, run.topology.place().host,
                                     run.device.kind == DeviceKind::cuda ? "cuda" : "cpu"});
  const ClassifyPlots::RunSpeed mine{run.topology.world().size(), run.topology.model_group().size(),
                                     batch, plots.total_samples_per_second, true};
  const auto is_mine = [&](const auto& other) {
    return other.ranks == mine.ranks && other.ranks_of_copy == mine.ranks_of_copy &&
           other.batch == mine.batch;
  };
  if (mine.samples_per_second > 0.0) {
    std::erase_if(plots.runs, is_mine);
    plots.runs.push_back(mine);
  }
  std::ranges::sort(plots.runs, {}, [](const ClassifyPlots::RunSpeed& speed) {
    return std::tuple(speed.ranks, speed.ranks_of_copy, speed.batch);
  });
}

/// Returns whether a metric covers all labels, not only the positive one.
bool is_of_all_labels(const ClassifyPlots::Metric& metric) {
  return metric.key == "accuracy" || metric.key == "macro_f1" || metric.key == "calibration_error";
}

/// Adds the lowest F1 of any label to the results. A label whose F1 is not defined does not count.
/// Runs without a positive label get this result instead of precision, recall and F1.
void add_worst_label(const ClassifyPlots& plots, run::JobOutcome& outcome) {
  const auto f1_of = [](const ClassifyPlots::LabelResult& label) {
    return label.has_f1 ? label.f1 : std::numeric_limits<double>::infinity();
  };
  const auto worst = std::ranges::min_element(plots.by_label, {}, f1_of);
  if (worst == plots.by_label.end() || !worst->has_f1) return;
  outcome.results.push_back(
      {"worst_f1", "lowest F1 of a label: " + worst->label, worst->f1, "", 4});
}

void add_results(const ClassifyPlots& plots, run::JobOutcome& outcome) {
  std::string text = report::counted(plots.rows, "text");
  for (const ClassifyPlots::Metric& metric : plots.metrics) {
    if (plots.judged == 0) break;
    if (!plots.has_positive && !is_of_all_labels(metric)) continue;
    outcome.results.push_back({metric.key,
                               metric.label + (metric.is_defined ? "" : " (of no rows)"),
                               metric.value, "", 4});
    if (metric.key == "accuracy" || metric.key == "f1" || metric.key == "macro_f1")
      text += "; " + metric.label + report::text_of(" %.4f", metric.value);
  }
  if (plots.judged > 0 && !plots.has_positive) add_worst_label(plots, outcome);
  if (plots.total_samples_per_second > 0.0) {
    outcome.results.push_back({"samples_per_second", "samples per second, all ranks",
                               plots.total_samples_per_second, "samples/s", 2});
    text += "; " + report::rate_text(plots.total_samples_per_second) + " samples/s";
  }
  outcome.result = text;
}

/// Warns about the rows of each outcome except `ok`. Adds the number of rows with the status
/// bad_row to the results. Sets the exit code `incomplete` if the share of these rows is above
/// output.max_failed.
void judge_rows(run::RunContext& run, const ClassifyPlots& plots, run::JobOutcome& outcome) {
  std::int64_t failed = 0;
  for (const auto& [name, count] : plots.outcomes) {
    if (name == rows::name_of(rows::RowStatus::ok)) continue;
    run.log.event({"warn",
                   {{"text", report::grouped(count) + " of " + report::counted(plots.rows, "text") +
                                 ": " + name + "; columns `status` and `pred` of " +
                                 run.store.result_file + " say which"}}});
    if (name == rows::name_of(rows::RowStatus::bad_row)) failed = count;
  }
  if (failed == 0) return;
  outcome.results.push_back(
      {"bad_rows", "rows that could not be used", static_cast<double>(failed), "", 0});
  const double share = static_cast<double>(failed) / static_cast<double>(plots.rows);
  if (share > run.store.max_failed) outcome.exit = ExitCode::incomplete;
}

/// Warns about prompts that are longer than the model's context, and adds their number to the
/// results.
void judge_lengths(run::RunContext& run, const ClassifyInputs& inputs, const ClassifyPlots& plots,
                   run::JobOutcome& outcome) {
  const std::int64_t context = rows::context_of(inputs.model);
  const auto beyond = std::ranges::count_if(
      plots.prompt_tokens, [&](std::int32_t count) { return context > 0 && count > context; });
  if (beyond == 0) return;
  outcome.results.push_back({"beyond_context", "prompts longer than the model was made for",
                             static_cast<double>(beyond), "", 0});
  run.log.event({"warn",
                 {{"text", rows::beyond_context_warning(
                               beyond, context,
                               "data.max_length=" + std::to_string(context) + " cuts them")}}});
}

}  // namespace

store::SealRequest classify_request(const run::SealPlace& place, const ClassifyInputs& inputs) {
  store::SealRequest request = run::seal_request(place, "classify", inputs.config.run.part);
  if (const int ranks = inputs.config.rows.model.summing_ranks(); ranks > 1)
    request.groups.front().attributes.push_back({"ranks_of_a_model", std::int64_t{ranks}});
  request.groups.push_back(facts_of(inputs));
  request.tables = {{classify_table(inputs), inputs.phase, inputs.config.run.chunk_size}};
  return request;
}

SealedLabels seal_labels(const cluster::Group& world, const store::ChunkJournal& journal,
                         const run::SealPlace& place, const ClassifyInputs& inputs,
                         bool may_lack_rows) {
  store::SealRequest request = classify_request(place, inputs);
  request.partial = request.partial || may_lack_rows;
  // The small tables, such as `confusion`, are computed from all rows, which no single rank has. So
  // this function first seals a temporary file with only the rows, and then reads all rows from it.
  store::SealRequest rows = request;
  rows.path = place.directory.path() / "rows.h5.part";
  rows.what = "rows";
  rows.text = true;
  const bool is_whole = store::seal(world, journal, rows).missing_rows == 0;
  SealedLabels sealed{plots_of(world, rows.path, inputs.config), {}};
  cluster::run_together(world, [&] {
    if (world.rank() == 0) fs::remove(rows.path);
  });
  // Only rank 0 has the groups and the texts, so it writes the small tables.
  if (world.rank() == 0 && is_whole) request.small_tables = small_tables(sealed.plots);
  sealed.report = store::seal(world, journal, request);
  return sealed;
}

void add_label_results(run::RunContext& run, const ClassifyInputs& inputs, ClassifyPlots plots,
                       const std::vector<run::GroupWork>& groups, std::int64_t batch,
                       run::JobOutcome& outcome) {
  fill_speeds(groups, plots);
  cluster::run_together(run.topology.world(), [&] {
    if (run.topology.world().rank() == 0) fill_runs(run, inputs, batch, plots);
  });
  add_results(plots, outcome);
  judge_rows(run, plots, outcome);
  judge_lengths(run, inputs, plots, outcome);
  outcome.page = std::make_unique<ClassifyPage>(std::move(plots));
}

}  // namespace mgpu::jobs
