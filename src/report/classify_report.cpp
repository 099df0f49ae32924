#include <algorithm>

#include <mgpu/report/classify_report.hpp>
#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::size_t kShownCharacters = 300;

std::string rate_of(const ShownRate& rate) {
  if (!rate.is_defined) return "no such rows";
  return text_of("%.3f (%.3f to %.3f)", rate.value, rate.low, rate.high);
}

Table confusion_table(const ClassifyPictures& pictures) {
  Table table{"Confusion: true labels down, given ones across", {"true"}, {}};
  for (const std::string& label : pictures.labels)
    table.head.push_back(label);
  table.head.emplace_back("unknown");
  const std::size_t columns = pictures.labels.size() + 1;
  for (std::size_t row = 0; row < pictures.labels.size(); ++row) {
    std::vector<std::string> cells{pictures.labels[row]};
    for (std::size_t column = 0; column < columns; ++column)
      cells.push_back(grouped(pictures.confusion[row * columns + column]));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table group_table(const ClassifyPictures& pictures) {
  Table table{"Errors of each group, with 95 % intervals (Wilson)",
              {"group", "rows", "accuracy", "false positives", "false negatives", "fair"},
              {}};
  for (const ClassifyPictures::GroupErrors& group : pictures.groups)
    table.rows.push_back({group.name, grouped(group.rows), rate_of(group.accuracy),
                          rate_of(group.false_positive), rate_of(group.false_negative),
                          group.is_fair ? "yes" : "no"});
  return table;
}

Table mistake_table(const ClassifyPictures& pictures) {
  Table table{"The most confident mistakes", {"text", "true", "given", "confidence"}, {}, {}, true};
  for (const ClassifyPictures::Mistake& mistake : pictures.mistakes)
    table.rows.push_back({clip(mistake.text, kShownCharacters), mistake.truth, mistake.given,
                          text_of("%.4f", mistake.confidence)});
  return table;
}

/// A chart in the unit square with a line from corner to corner.
LineChart unit_chart(const char* title, const char* x, const char* y, const char* diagonal) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x;
  chart.y_label = y;
  chart.width = 520;
  chart.height = 320;
  chart.label_width = 90;
  chart.from_zero = true;
  chart.curves = {
      {.label = diagonal, .curve = {{0.0, 1.0}, {0.0, 1.0}}, .css = "ref", .dashed = true}};
  return chart;
}

Figure roc_figure(const ClassifyPictures& pictures) {
  LineChart chart = unit_chart("ROC curve", "false positive rate", "true positive rate", "chance");
  chart.curves.push_back({.label = "model", .curve = pictures.roc, .css = "c1", .emphasis = true});
  return {"ROC curve of the positive label", svg_line_chart(chart),
          "Each point is a threshold on its probability; nearer to the upper left is better."};
}

Figure calibration_figure(const ClassifyPictures& pictures) {
  LineChart chart = unit_chart("Calibration", "confidence", "share that is right", "calibrated");
  chart.curves.push_back(
      {.label = "model", .curve = pictures.calibration, .css = "c2", .dots = true});
  return {"Calibration", svg_line_chart(chart),
          "Rows in ten classes by the probability of their label; below the line the model is too "
          "sure of itself."};
}

Figure speed_figure(const ClassifyPictures& pictures) {
  BarChart chart;
  chart.title = "Samples per second of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "samples/s";
  chart.css = "c3";
  for (std::size_t g = 0; g < pictures.samples_per_second.size(); ++g)
    chart.bars.push_back({std::to_string(g), pictures.samples_per_second[g]});
  return {"Samples per second of each copy of the model", svg_bars(chart),
          "Of the time in which it worked on texts, in the attempt that finished the run."};
}

Figure error_figure(const ClassifyPictures& pictures) {
  BarChart chart;
  chart.title = "Share of each group that is wrong";
  chart.x_label = "group";
  chart.y_label = "wrong";
  chart.css = "c4";
  for (const ClassifyPictures::GroupErrors& group : pictures.groups)
    chart.bars.push_back({group.name, 1.0 - group.accuracy.value});
  return {"Share of each group that is wrong", svg_bars(chart),
          "Intervals, and the two kinds of errors, are in the table below."};
}

std::string headline(const ClassifyPictures& pictures, const RunSummary& summary) {
  if (pictures.rows == 0) return plain_headline(summary);
  if (pictures.judged == 0) return grouped(pictures.rows) + " texts were classified.";
  for (const ClassifyPictures::Metric& metric : pictures.metrics)
    if (metric.key == "accuracy")
      return text_of("%.1f %% of ", 100.0 * metric.value) + grouped(pictures.judged) +
             " texts were given their label.";
  return plain_headline(summary);
}

}  // namespace

void ClassifyPage::record(RunSummary& summary) const {
  for (const auto& [outcome, count] : pictures_.outcomes)
    summary.results.push_back({"outcome_" + outcome.substr(0, outcome.find(' ')),
                               "rows: " + outcome, static_cast<double>(count), "", 0});
}

HtmlReport ClassifyPage::page(const RunSummary& summary) const {
  HtmlReport report;
  report.headline = headline(pictures_, summary);
  for (const Result& result : summary.results)
    if (!result.key.starts_with("outcome_"))
      report.tiles.push_back({text_of("%.*f", result.decimals, result.value), result.label,
                              "/results/" + result.key + "/value"});
  std::vector<Figure> figures;
  if (!pictures_.roc.empty()) figures.push_back(roc_figure(pictures_));
  if (!pictures_.calibration.empty()) figures.push_back(calibration_figure(pictures_));
  if (!pictures_.groups.empty()) figures.push_back(error_figure(pictures_));
  figures.push_back(speed_figure(pictures_));
  report.sections = {{"What came out", std::move(figures), true}};
  if (pictures_.judged > 0) report.tables.push_back(confusion_table(pictures_));
  if (!pictures_.groups.empty()) report.tables.push_back(group_table(pictures_));
  if (!pictures_.mistakes.empty()) report.tables.push_back(mistake_table(pictures_));
  return report;
}

}  // namespace mgpu::report
