// Reads two runs of job generate, and writes their comparison as numbers and as a page.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/html_page.hpp>
#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "comparison.hpp"

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

constexpr std::size_t kShownChanges = 6;  // largest number of gains, and of losses, in the table
constexpr std::size_t kShownTextLength = 300;  // characters of a text on the page

/// Reads table `prompts` of a run. Errors: Failure E145 if the run has no such table.
store::ReadTable read_prompts(const run::ComparedRun& run) {
  store::require_sound(run.results);
  try {
    return store::read_table(run.results, "prompts");
  } catch (const Failure& failure) {
    if (failure.report().code != "E605") throw;
  }
  throw Failure({"E145",
                 ExitCode::data,
                 "run " + run.name + " has no evaluation",
                 {"  --> " + run.results.string()},
                 "a data set that checks answers, reward.functions=[match] on rows with an "
                 "`answer`, other rewards, or generate.reference=FOLDER"});
}

JsonValue json_of(const Comparison& comparison, const run::CompareRequest& request) {
  JsonValue::Members metrics;
  for (const MetricDifference& metric : comparison.metrics)
    metrics.emplace_back(metric.key,
                         JsonValue::Members{{"before", metric.before.mean},
                                            {"after", metric.after.mean},
                                            {"difference", metric.change.mean},
                                            {"standard_error", metric.change.standard_error},
                                            {"low", metric.change.low},
                                            {"high", metric.change.high},
                                            {"prompts", metric.change.count},
                                            {"larger", metric.more},
                                            {"smaller", metric.less}});
  return JsonValue::Members{{"schema", 1},
                            {"before", request.before.name},
                            {"after", request.after.name},
                            {"prompts", std::ssize(comparison.prompts)},
                            {"metrics", metrics}};
}

/// Returns the curve of pass@k against k for one of the two runs, with 95 % intervals.
report::DrawnCurve pass_curve(const Comparison& comparison, const std::string& label,
                              Estimate MetricDifference::*of, const char* css) {
  report::DrawnCurve curve{label, {}, css};
  curve.dots = true;
  for (const MetricDifference& metric : comparison.metrics) {
    if (!metric.key.starts_with("pass_")) continue;
    const Estimate& estimate = metric.*of;
    curve.curve.x.push_back(std::stod(metric.key.substr(5)));
    curve.curve.y.push_back(estimate.mean);
    curve.low.push_back(estimate.has_interval() ? estimate.low : estimate.mean);
    curve.high.push_back(estimate.has_interval() ? estimate.high : estimate.mean);
  }
  return curve;
}

report::Figure pass_figure(const Comparison& comparison) {
  report::LineChart chart;
  chart.title = "pass@k before and after";
  chart.x_label = "samples of a prompt, k";
  chart.y_label = "share of prompts";
  chart.height = 300;
  chart.label_decimals = 3;
  chart.from_zero = true;
  chart.curves = {pass_curve(comparison, "after", &MetricDifference::after, "c1"),
                  pass_curve(comparison, "before", &MetricDifference::before, "c2")};
  if (chart.curves.front().curve.x.size() < 2) return {};
  return {"pass@k", report::svg_line_chart(chart),
          "Bands are 95 % intervals of each run. The intervals of the differences in the table are "
          "narrower where both runs are right on the same prompts."};
}

report::Table difference_table(const Comparison& comparison) {
  report::Table table{
      "Metrics",
      {"metric", "before", "after", "difference", "95 % interval", "larger", "smaller", "prompts"},
      {}};
  for (const MetricDifference& metric : comparison.metrics) {
    const Estimate& change = metric.change;
    const std::string interval =
        change.has_interval() ? report::text_of("%+.4f to %+.4f", change.low, change.high) : "";
    table.rows.push_back({metric.key, mean_text(metric.before.mean), mean_text(metric.after.mean),
                          signed_text(change.mean), interval, report::grouped(metric.more),
                          report::grouped(metric.less), report::grouped(change.count)});
  }
  return table;
}

/// Returns the indices of the prompts whose main metric changed most: up to kShownChanges gains,
/// the largest first, and then up to kShownChanges losses, the largest last.
std::vector<std::size_t> most_changed(const Comparison& comparison) {
  const std::vector<double>& changes = comparison.changes;
  std::vector<std::size_t> gains;
  std::vector<std::size_t> losses;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (changes[i] > 0.0) gains.push_back(i);
    if (changes[i] < 0.0) losses.push_back(i);
  }
  for (std::vector<std::size_t>* order : {&gains, &losses})
    std::ranges::stable_sort(*order, [&](auto a, auto b) { return changes[a] > changes[b]; });
  gains.resize(std::min(gains.size(), kShownChanges));
  const std::span largest = std::span(losses).last(std::min(losses.size(), kShownChanges));
  gains.insert(gains.end(), largest.begin(), largest.end());
  return gains;
}

/// The first completion of each prompt of a run.
class FirstCompletions {
public:
  explicit FirstCompletions(const std::filesystem::path& results)
      : results_(results), samples_(store::read_table(results, "samples")) {
    const std::vector<std::string> texts = store::text_columns(results, "samples");
    has_texts_ = std::ranges::find(texts, "output") != texts.end();
  }

  /// Returns whether the file has the texts of completions. They are absent with
  /// output.text=false.
  bool has_texts() const { return has_texts_; }

  std::string text(const char* column, std::int64_t prompt) const {
    const auto prompts = samples_.column("prompt_index").values<std::int64_t>();
    const auto at = std::ranges::find(prompts, prompt);
    if (at == prompts.end()) return "";
    return report::clip(
        store::read_texts(results_, "samples", column, at - prompts.begin(), 1).front(),
        kShownTextLength);
  }

private:
  std::filesystem::path results_;
  store::ReadTable samples_;
  bool has_texts_ = false;
};

report::Table answer_table(const Comparison& comparison, const run::CompareRequest& request) {
  const FirstCompletions before(request.before.results);
  const FirstCompletions after(request.after.results);
  report::Table table{"First completions of the prompts whose " +
                          comparison.metrics[comparison.main].key + " changed most",
                      {"prompt", "before", "after", "change"},
                      {},
                      {},
                      true,
                      true};
  if (!before.has_texts() || !after.has_texts()) return table;
  for (const std::size_t i : most_changed(comparison)) {
    const std::int64_t prompt = comparison.prompts[i];
    table.rows.push_back({before.text("prompt", prompt), before.text("output", prompt),
                          after.text("output", prompt),
                          report::text_of("%+.4f", comparison.changes[i])});
  }
  return table;
}

/// Returns a sentence with the main metric: "score rose by 0.1200 (95 % interval of the difference:
/// +0.0500 to +0.1900) over 100 prompts."
std::string headline_of(const Comparison& comparison) {
  const MetricDifference& metric = comparison.metrics[comparison.main];
  if (metric.change.count == 0) return "No prompt has a " + metric.key + " in both runs.";
  const char* verb = metric.change.mean < 0.0 ? " fell by " : " rose by ";
  std::string text =
      metric.key + (metric.change.mean == 0.0
                        ? " did not change"
                        : verb + report::text_of("%.4f", std::fabs(metric.change.mean)));
  if (metric.change.has_interval())
    text += report::text_of(" (95 %% interval of the difference: %+.4f to %+.4f)",
                            metric.change.low, metric.change.high);
  return text + " over " + report::counted(metric.change.count, "prompt") + ".";
}

std::string page_of(const Comparison& comparison, const run::CompareRequest& request) {
  report::RunSummary summary;
  summary.name = request.before.name + " and " + request.after.name;
  summary.job = "generate";
  summary.ranks = 0;  // a comparison is no run
  report::HtmlPage page;
  page.headline = headline_of(comparison);
  page.numbers_in = request.numbers.filename().string();
  page.sections = {{"Before and after",
                    {pass_figure(comparison)},
                    false,
                    {difference_table(comparison), answer_table(comparison, request)}}};
  page.provenance = {{"before", request.before.name}, {"after", request.after.name}};
  return report::html_page(page, summary);
}

}  // namespace

std::string compare_completions(const run::CompareRequest& request) {
  const Comparison comparison =
      compare_prompts(read_prompts(request.before), read_prompts(request.after));
  const std::string page = page_of(comparison, request);
  write_file_durably(request.numbers,
                     formats::to_json(json_of(comparison, request), formats::BadUtf8::replace),
                     "comparison");
  write_file_durably(request.page, page, "comparison");
  return comparison_text(comparison);
}

}  // namespace mgpu::jobs
