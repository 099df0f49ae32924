#include "page.hpp"

#include <cmath>
#include <utility>

#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kShownCharacters = 300;

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

report::Table sample_table(const GeneratePlots& plots) {
  report::Table table{"Completions of the first prompts",
                      {"prompt", "completion", "samples", "log-probability", "ended by"},
                      {},
                      {},
                      true};
  const std::string* above = nullptr;  // the prompt of the row above
  for (const GeneratePlots::Sample& sample : plots.samples) {
    const bool is_new = above == nullptr || *above != sample.prompt;
    table.rows.push_back({is_new ? report::clip(sample.prompt, kShownCharacters) : "",
                          report::clip(sample.output, kShownCharacters),
                          report::grouped(sample.count) + " of " +
                              report::grouped(std::min(plots.num_samples, kReadSamples)),
                          report::text_of("%.2f nats", sample.log_prob), sample.reason});
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
    return report::grouped(plots.prompt_tokens) + " tokens of " + report::grouped(samples) +
           " prompts were scored.";
  }
  return report::grouped(samples) + " completions with " + report::grouped(plots.output_tokens) +
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
  for (const report::Result& result : summary.results)
    if (!result.key.starts_with("finish_")) report.tiles.push_back(report::tile_of(result));
  report.sections = {{"What came out",
                      {length_figure(plots_), speed_figure(plots_)},
                      true,
                      {sample_table(plots_)}}};
  if (!plots_.settings.empty()) report.tables.push_back(settings_table(plots_));
  return report;
}

}  // namespace mgpu::jobs
