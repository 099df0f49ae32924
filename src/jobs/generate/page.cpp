#include "page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kShownCharacters = 300;
constexpr std::array kRates = {"pass_",     "maj_",         "best_",
                               "weighted_", "over_random_", "over_maj_"};  // followed by k in keys

report::Figure length_figure(const GeneratePlots& plots) {
  const bool is_scoring = plots.is_scoring_only;
  report::BarChart chart;
  chart.title = is_scoring ? "How long the prompts are" : "How long the completions are";
  chart.x_label = "tokens";
  chart.y_label = "samples";
  chart.bars = report::histogram(is_scoring ? plots.prompt_lengths : plots.output_lengths, 30);
  std::string caption;
  for (const auto& [reason, count] : plots.finishes)
    caption += (caption.empty() ? "Ended by: " : ", ") + reason + " " + report::grouped(count);
  return {is_scoring ? "Length of the prompts" : "Length of the completions",
          report::svg_bars(chart), caption + ". A bar is labeled with the shortest length in it."};
}

report::Figure speed_figure(const GeneratePlots& plots) {
  if (plots.tokens_per_second.size() < 2) return {};
  report::BarChart chart;
  chart.title = "Tokens per second of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "tokens/s";
  chart.css = "c3";
  for (std::size_t r = 0; r < plots.tokens_per_second.size(); ++r)
    chart.bars.push_back({std::to_string(r), plots.tokens_per_second[r]});
  return {"Tokens per second of each copy of the model", report::svg_bars(chart),
          "Of the time in which it completed prompts, in the attempt that finished the run."};
}

report::DrawnCurve rate_curve(const char* name, const std::string& metric,
                              const GeneratePlots::Rates& rates, const char* css) {
  report::DrawnCurve curve{name, rates.means, css};
  curve.dots = true;
  curve.low = rates.low;
  curve.high = rates.high;
  curve.key = "/results/" + metric +
              std::to_string(static_cast<std::int64_t>(rates.means.x.back())) + "/value";
  return curve;
}

/// Draws pass@k, maj@k and the accuracies of searches over k.
report::Figure rate_figure(const GeneratePlots& plots) {
  if (plots.pass.means.x.size() < 2) return {};
  report::LineChart chart;
  chart.title = "Share of right prompts over the number of samples";
  chart.x_label = "samples of a prompt, k";
  chart.y_label = "share of prompts";
  chart.width = 520;
  chart.height = 300;
  chart.label_decimals = 3;
  chart.from_zero = true;
  chart.whole_x = true;
  chart.curves = {rate_curve("pass@k", "pass_", plots.pass, "c1")};
  if (!plots.majority.means.empty())
    chart.curves.push_back(rate_curve("maj@k", "maj_", plots.majority, "c2"));
  const bool has_search = !plots.best.means.empty();
  if (has_search) {
    chart.curves.push_back(rate_curve("best-of-k", "best_", plots.best, "c3"));
    chart.curves.push_back(rate_curve("weighted vote", "weighted_", plots.weighted, "c4"));
  }
  const char* const of_search =
      has_search ? "best-of-k: the completion with the highest score of the first k is right. "
                   "weighted vote: the answer with the highest sum of scores is right. "
                 : "";
  return {"pass@k and maj@k", report::svg_line_chart(chart),
          "pass@k: at least one of k samples is right. maj@k: the most frequent answer of the "
          "first k samples is right, and no other is as frequent. " +
              std::string(of_search) + "The bands are 95 % intervals over " +
              report::counted(plots.evaluated_prompts, "prompt") + "."};
}

std::string number_text(double value) {
  return std::isnan(value) ? "" : report::text_of("%.4f", value);
}

report::Table group_means_table(const GeneratePlots& plots) {
  report::Table table{"Groups of prompts",
                      {"group", "metric", "mean", "standard error", "95 % interval", "prompts"},
                      {},
                      {},
                      false};
  for (const GeneratePlots::GroupMean& group : plots.groups) {
    const Estimate& of = group.estimate;
    const std::string interval =
        of.has_interval() ? number_text(of.low) + " to " + number_text(of.high) : "";
    table.rows.push_back({group.group, group.metric, number_text(of.mean),
                          number_text(of.standard_error), interval, report::grouped(of.count)});
  }
  return table;
}

/// Returns the tiles of the results. Leaves out metric `first_right` (pass@1 of the first
/// completion), the counts of finish reasons, and rates for every k but the largest. If the largest
/// k is 1 and there is a score, leaves out all rates.
std::vector<report::Tile> tiles_of(const GeneratePlots& plots, const report::RunSummary& summary) {
  std::string most;
  if (!plots.pass.means.empty())
    most = '_' + std::to_string(static_cast<std::int64_t>(plots.pass.means.x.back()));
  const bool is_score =
      std::ranges::find(summary.results, "score", &report::Result::key) != summary.results.end();
  std::vector<report::Tile> tiles;
  for (const report::Result& result : summary.results) {
    const bool is_rate =
        std::ranges::any_of(kRates, [&](const char* rate) { return result.key.starts_with(rate); });
    const bool is_doubled = (most == "_1" && is_score) || !result.key.ends_with(most);
    if (result.key.starts_with("finish_") || result.key == "first_right") continue;
    if (is_rate && is_doubled) continue;
    tiles.push_back(report::tile_of(result));
  }
  return tiles;
}

report::Table sample_table(const GeneratePlots& plots) {
  report::Table table{"Completions of the first prompts",
                      {"prompt", "completion", "samples", "log-probability", "ended by"},
                      {},
                      {},
                      true};
  const bool is_checked = !plots.pass.means.empty();
  if (is_checked) table.head.insert(table.head.begin() + 2, {"answer", "verdict"});
  const std::string* above = nullptr;  // the prompt of the row above
  for (const GeneratePlots::Sample& sample : plots.samples) {
    const bool is_new = above == nullptr || *above != sample.prompt;
    table.rows.push_back({is_new ? report::clip(sample.prompt, kShownCharacters) : "",
                          report::clip(sample.output, kShownCharacters),
                          report::grouped(sample.count) + " of " +
                              report::grouped(std::min(plots.num_samples, kReadSamples)),
                          report::text_of("%.2f nats", sample.log_prob), sample.reason});
    if (is_checked) {
      std::vector<std::string>& row = table.rows.back();
      row.insert(row.begin() + 2, {report::clip(sample.answer, kShownCharacters), sample.verdict});
    }
    above = &sample.prompt;
  }
  return table;
}

report::Table settings_table(const GeneratePlots& plots) {
  return {"How it was generated",
          {"setting", "value"},
          {{"tokens are chosen by", plots.settings},
           {"completions of each prompt", report::grouped(plots.num_samples)}},
          {},
          true};
}

std::string headline(const GeneratePlots& plots, const report::RunSummary& summary) {
  const auto samples = static_cast<std::int64_t>(plots.output_lengths.size());
  if (samples == 0) return report::plain_headline(summary);
  if (plots.is_scoring_only) {
    return report::counted(plots.prompt_tokens, "token") + " of " + report::grouped(samples) +
           " prompts were scored.";
  }
  return report::counted(samples, "completion") + " with " + report::grouped(plots.output_tokens) +
         " tokens were generated.";
}

}  // namespace

void GeneratePage::record(report::RunSummary& summary) const {
  for (const auto& [reason, count] : plots_.finishes)
    summary.results.push_back({"finish_" + reason.substr(0, reason.find(' ')),
                               "samples that ended by " + reason, static_cast<double>(count), "",
                               0});
}

report::HtmlPage GeneratePage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = headline(plots_, summary);
  report.tiles = tiles_of(plots_, summary);
  report.sections = {{"What came out",
                      {rate_figure(plots_), length_figure(plots_), speed_figure(plots_)},
                      true,
                      {group_means_table(plots_), sample_table(plots_)}}};
  if (!plots_.settings.empty()) report.tables.push_back(settings_table(plots_));
  return report;
}

}  // namespace mgpu::jobs
