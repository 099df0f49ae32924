#include "page.hpp"

#include <algorithm>
#include <string_view>

#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/svg_unit_chart.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"
#include "metrics.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kShownCharacters = 160;

std::string rate_of(const ShownRate& rate) {
  if (!rate.is_defined) return "no such rows";
  return report::text_of("%.3f (%.3f to %.3f)", rate.value, rate.low, rate.high);
}

report::Table confusion_table(const ClassifyPlots& plots) {
  report::Table table{"Confusion: true labels down, predicted ones across", {"true"}, {}};
  for (const std::string& label : plots.labels)
    table.head.push_back(label);
  table.head.emplace_back("unknown");
  const std::size_t columns = plots.labels.size() + 1;
  for (std::size_t row = 0; row < plots.labels.size(); ++row) {
    std::vector<std::string> cells{plots.labels[row]};
    for (std::size_t column = 0; column < columns; ++column)
      cells.push_back(report::grouped(plots.confusion[row * columns + column]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Returns whether a group is fair, as a word for the page:
/// - "no" if the interval of one of the two error rates begins at kFairRate or above
/// - "yes" if the intervals of both error rates are below kFairRate
/// - "not decided" otherwise, such as for a group with a rate that is not defined
std::string fair_text(const ClassifyPlots::GroupErrors& group) {
  bool is_below = true;
  for (const ShownRate* rate : {&group.false_positive, &group.false_negative}) {
    if (rate->is_defined && rate->low >= kFairRate) return "no";
    is_below = is_below && rate->is_defined && rate->high < kFairRate;
  }
  return is_below ? "yes" : "not decided";
}

report::Table group_table(const ClassifyPlots& plots) {
  report::Table table{"Errors of each group, with 95 % intervals (Wilson)",
                      {"group", "rows", "accuracy", "false positives of " + plots.positive,
                       "false negatives of " + plots.positive, "fair"},
                      {}};
  for (const ClassifyPlots::GroupErrors& group : plots.groups)
    table.rows.push_back({group.name, report::grouped(group.rows), rate_of(group.accuracy),
                          rate_of(group.false_positive), rate_of(group.false_negative),
                          fair_text(group)});
  return table;
}

report::Table label_table(const ClassifyPlots& plots) {
  report::Table table{"Each label, with 95 % intervals (Wilson)",
                      {"label", "rows", "precision", "recall", "F1"},
                      {}};
  for (const ClassifyPlots::LabelResult& label : plots.by_label)
    table.rows.push_back({label.label, report::grouped(label.support), rate_of(label.precision),
                          rate_of(label.recall),
                          label.has_f1 ? report::text_of("%.3f", label.f1) : "no such rows"});
  return table;
}

report::Table mistake_table(const ClassifyPlots& plots) {
  report::Table table{"The most confident mistakes",
                      {"text", "true", "predicted",
                       plots.has_probabilities ? "probability" : "log-probability of the answer"},
                      {},
                      {},
                      true};
  for (const ClassifyPlots::Mistake& mistake : plots.mistakes)
    table.rows.push_back({report::clip(mistake.text, kShownCharacters), mistake.truth,
                          mistake.given, report::text_of("%.4f", mistake.confidence)});
  return table;
}

report::Figure confusion_figure(const ClassifyPlots& plots) {
  return {"Confusion", svg_confusion(plots),
          "Rows of each true label and their predicted label; shares are of the true label's."};
}

const ClassifyPlots::Metric* find_metric(const ClassifyPlots& plots, std::string_view key) {
  const auto found = std::ranges::find(plots.metrics, key, &ClassifyPlots::Metric::key);
  return found == plots.metrics.end() ? nullptr : &*found;
}

report::Figure roc_figure(const ClassifyPlots& plots) {
  report::UnitChart chart{"ROC curve", "false positive rate", "true positive rate", "chance"};
  chart.curve = plots.roc;
  const ClassifyPlots::Metric* area = find_metric(plots, "roc_auc");
  if (area != nullptr && area->is_defined) chart.note = report::text_of("area %.4f", area->value);
  return {"ROC curve of " + report::clip(plots.positive, 40), report::svg_unit_chart(chart),
          "Each point is a threshold on its probability; nearer to the upper left is better."};
}

/// Returns one chart per label: the ROC curve of the label against all others. Returns at most 12
/// charts, and skips labels without a curve.
std::vector<report::Figure> each_roc_figure(const ClassifyPlots& plots) {
  constexpr std::size_t kMost = 12;
  std::vector<report::Figure> figures;
  for (const ClassifyPlots::LabelResult& label : plots.by_label) {
    if (label.roc.empty() || figures.size() == kMost) continue;
    report::UnitChart chart{"ROC curve of one label against all others", "false positive rate",
                            "true positive rate", "chance"};
    chart.curve = label.roc;
    chart.note = report::text_of("area %.4f", label.roc_auc);
    figures.push_back({"ROC curve of " + report::clip(label.label, 40),
                       report::svg_unit_chart(chart),
                       report::grouped(label.support) + " rows have this label."});
  }
  return figures;
}

report::Figure calibration_figure(const ClassifyPlots& plots) {
  report::UnitChart chart{"Calibration", "probability of the label that was found",
                          "share that is right", "calibrated"};
  chart.css = "c4";
  chart.has_room_above = true;
  chart.curve = plots.calibration;
  chart.low = plots.calibration_low;
  chart.high = plots.calibration_high;
  for (std::size_t i = 0; i < chart.curve.x.size(); ++i) {
    chart.counts.push_back(report::grouped(plots.calibration_rows.at(i)));
    chart.hover.push_back(
        chart.counts.back() + " rows: " +
        report::text_of("probability %.3f, right %.3f", chart.curve.x[i], chart.curve.y[i]));
  }
  const ClassifyPlots::Metric* error = find_metric(plots, "calibration_error");
  if (error != nullptr && error->is_defined)
    chart.note = report::text_of("expected error %.4f", error->value);
  return {"Calibration", report::svg_unit_chart(chart),
          "Rows in ten classes by the probability of their label, with 95 % intervals (Wilson). "
          "The number at a point counts its rows. Below the line the model is too sure of "
          "itself."};
}

report::Figure score_figure(const ClassifyPlots& plots) {
  std::string caption = "Rows in twenty classes; heights are logarithms.";
  if (plots.labels.size() == 2)
    caption += " The dotted line is the threshold: right of it a text is called " +
               report::clip(plots.positive, 40) + '.';
  return {"Distribution of scores", svg_scores(plots), caption};
}

/// Returns a text that replaces the charts of probabilities.
report::Figure no_scores_figure() {
  return {"No scores",
          "<p class=\"words\">The answers were generated (classify.score=generate), so that the "
          "labels have no probabilities: there is no ROC curve, no calibration and no "
          "distribution of scores.</p>"};
}

report::Figure no_truth_figure() {
  return {"No true labels",
          "<p class=\"words\">No row has a true label, so the share of right "
          "answers is unknown.</p>"};
}

report::Figure group_figure(const ClassifyPlots& plots) {
  std::string caption =
      "Shares with 95 % intervals (Wilson), rows in brackets. False positives and negatives are "
      "of " +
      report::clip(plots.positive, 40) +
      ". The dotted line is 0.2, below which both rates of a fair group are. A group whose "
      "interval "
      "crosses the line is not decided.";
  if (plots.groups.size() > kShownGroups)
    caption += " The first " + report::grouped(static_cast<std::int64_t>(kShownGroups)) + " of " +
               report::grouped(static_cast<std::int64_t>(plots.groups.size())) +
               " groups are drawn; the table has all.";
  return {"Errors of each group", svg_group_errors(plots.groups), caption};
}

report::Figure speed_figure(const ClassifyPlots& plots) {
  if (plots.samples_per_second.size() < 2) return {};
  report::BarChart chart;
  chart.title = "Samples per second of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "samples/s";
  chart.css = "c3";
  for (std::size_t g = 0; g < plots.samples_per_second.size(); ++g)
    chart.bars.push_back({std::to_string(g), plots.samples_per_second[g]});
  return {"Samples per second of each copy of the model", report::svg_bars(chart),
          "Of the time in which it worked on texts, in the attempt that finished the run."};
}

report::Figure runs_figure(const ClassifyPlots& plots) {
  if (plots.runs.size() < 2) return {};
  const char* const caption =
      "This run in color; the others are the newest of their kind in the same output folder, with "
      "the same keys, texts and model, on the same host. All copies together, in the time of the "
      "busiest.";
  return {"Samples per second, by ranks and batch", svg_run_speeds(plots.runs), caption};
}

std::vector<report::Figure> figures_of(const ClassifyPlots& plots) {
  std::vector<report::Figure> figures;
  if (plots.judged == 0) figures.push_back(no_truth_figure());
  figures.push_back(confusion_figure(plots));
  if (plots.has_probabilities) {
    if (plots.has_positive) figures.push_back(roc_figure(plots));
    figures.push_back(calibration_figure(plots));
    if (plots.has_positive) figures.push_back(score_figure(plots));
  } else {
    figures.push_back(no_scores_figure());
  }
  return figures;
}

std::string headline(const ClassifyPlots& plots, const report::RunSummary& summary) {
  if (plots.rows == 0) return report::plain_headline(summary);
  if (plots.judged == 0) return report::grouped(plots.rows) + " texts were classified.";
  for (const ClassifyPlots::Metric& metric : plots.metrics)
    if (metric.key == "accuracy")
      return report::text_of("%.1f %% of ", 100.0 * metric.value) + report::grouped(plots.judged) +
             " texts have the right label.";
  return report::plain_headline(summary);
}

}  // namespace

void ClassifyPage::record(report::RunSummary& summary) const {
  for (const auto& [outcome, count] : plots_.outcomes)
    summary.results.push_back(
        {"outcome_" + outcome, "rows: " + outcome, static_cast<double>(count), "", 0});
  auto& series = summary.series;
  if (plots_.has_probabilities) {
    series["roc/false_positive_rate"] = plots_.roc.x;
    series["roc/true_positive_rate"] = plots_.roc.y;
    series["calibration/confidence"] = plots_.calibration.x;
    series["calibration/accuracy"] = plots_.calibration.y;
  }
  series["samples_per_second_of_copies"] = plots_.samples_per_second;
  for (const ClassifyPlots::RunSpeed& run : plots_.runs) {
    if (!run.is_this) continue;
    series["speed/run_key"] = {static_cast<double>(plots_.run_key)};
    series["speed/ranks"] = {static_cast<double>(run.ranks)};
    series["speed/ranks_of_copy"] = {static_cast<double>(run.ranks_of_copy)};
    series["speed/batch"] = {static_cast<double>(run.batch)};
    series["speed/samples_per_second"] = {run.samples_per_second};
  }
}

report::HtmlPage ClassifyPage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = headline(plots_, summary);
  for (const report::Result& result : summary.results)
    if (!result.key.starts_with("outcome_")) report.tiles.push_back(report::tile_of(result));
  report.sections = {{"What came out", figures_of(plots_), true},
                     {"Each label against all others", each_roc_figure(plots_), true},
                     {"Groups", {group_figure(plots_)}},
                     {"How fast", {runs_figure(plots_), speed_figure(plots_)}, true}};
  if (plots_.judged > 0) {
    report.tables.push_back(label_table(plots_));
    report.tables.push_back(confusion_table(plots_));
  }
  if (!plots_.groups.empty()) report.tables.push_back(group_table(plots_));
  if (!plots_.mistakes.empty()) report.tables.push_back(mistake_table(plots_));
  return report;
}

}  // namespace mgpu::jobs
