#include "page.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/svg_unit_chart.hpp>
#include <mgpu/report/text_format.hpp>

#include "tree_figure.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kShownCharacters = 200;

report::Figure tree_figure(const CollectPlots::Shown& shown) {
  const std::string question = report::clip(shown.tree.prompt, kShownCharacters);
  return {"The " + shown.name + " question: " + report::grouped(shown.question),
          html_step_tree(shown),
          "\"" + question +
              "\" A number is the value of a step: the stronger its color, the higher the value. "
              "The text of the step appears when the pointer is over it, or on a click."};
}

report::Figure value_figure(const CollectPlots& plots) {
  if (plots.percents.empty()) return {};
  report::BarChart chart;
  chart.title = "Values of the steps";
  chart.x_label = "value, in percent";
  chart.y_label = "steps";
  chart.bars = report::histogram(plots.percents, 20);
  return {"Values of the steps", report::svg_bars(chart),
          "A bar is labeled with the lowest value in it."};
}

/// Returns a chart without curves, half as wide as the page, whose x values are whole numbers.
report::LineChart half_chart(const char* title, const char* x_label, const char* y_label) {
  report::LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = y_label;
  chart.width = 520;
  chart.height = 280;
  chart.label_decimals = 3;
  chart.from_zero = true;
  chart.whole_x = true;
  return chart;
}

report::Figure depth_figure(const CollectPlots& plots) {
  if (plots.counts_at.size() < 2) return {};
  report::DrawnCurve curve{"mean value", {}, "c1"};
  curve.dots = true;
  for (std::size_t s = 0; s < plots.counts_at.size(); ++s) {
    curve.curve.x.push_back(static_cast<double>(s + 1));
    curve.curve.y.push_back(plots.sums_at[s] / static_cast<double>(plots.counts_at[s]));
  }
  report::LineChart chart =
      half_chart("Mean value of the steps over their number", "step of a solution", "mean value");
  chart.curves = {std::move(curve)};
  return {"Mean value by step", report::svg_line_chart(chart),
          "Later steps exist in longer solutions only."};
}

/// Draws the calibration of the rollouts. A point stands for steps with similar shares of right
/// rollouts. The x value is the mean of these shares. The y value is the share of these steps whose
/// own solution is right. The rollouts of a step do not include its own solution.
report::Figure calibration_figure(const CollectPlots& plots) {
  report::UnitChart chart{"Calibration of the rollouts", "share of right rollouts of a step",
                          "share of right solutions", "as many as rollouts"};
  for (const CollectPlots::RolloutBin& bin : plots.bins) {
    if (bin.steps == 0) continue;
    chart.curve.x.push_back(bin.shares / static_cast<double>(bin.steps));
    chart.curve.y.push_back(static_cast<double>(bin.right) / static_cast<double>(bin.steps));
    chart.counts.push_back(report::grouped(bin.steps));
  }
  if (chart.curve.x.size() < 2) return {};
  chart.has_room_above = true;
  return {"Calibration", report::svg_unit_chart(chart),
          "Steps with similar shares of right rollouts form a point, with their number. Its height "
          "says how many of their solutions are right. Few rollouts make the curve flatter than "
          "the diagonal, because extreme shares are partly chance."};
}

report::DrawnCurve choice_curve(const char* name, const char* css, const CollectPlots& plots,
                                std::vector<double> CollectPlots::Choices::*values) {
  report::DrawnCurve curve{name, {}, css};
  curve.dots = true;
  for (const auto& [k, choices] : plots.choices) {
    // Skips k if some questions have fewer than k solutions.
    if (choices.vote.size() < plots.shares.size()) continue;
    const Estimate estimate = estimate_mean(choices.*values);
    curve.curve.x.push_back(static_cast<double>(k));
    curve.curve.y.push_back(estimate.mean);
    curve.low.push_back(estimate.low);
    curve.high.push_back(estimate.high);
  }
  return curve;
}

/// Draws two shares of questions over k: those for which one of the first k solutions is right, and
/// those for which the majority vote of these solutions is right.
report::Figure choice_figure(const CollectPlots& plots) {
  report::LineChart chart = half_chart("Share of right answers over the number of solutions",
                                       "solutions of a question, k", "share of questions");
  chart.curves = {choice_curve("oracle", "c1", plots, &CollectPlots::Choices::oracle),
                  choice_curve("majority", "c2", plots, &CollectPlots::Choices::vote)};
  if (chart.curves.front().curve.x.size() < 2) return {};
  chart.levels = {{"random", estimate_mean(plots.shares).mean}};
  return {"Right answers by number of solutions", report::svg_line_chart(chart),
          "oracle: at least one of the first k solutions is right. majority: their most frequent "
          "answer is right, and no other is as frequent. random: any solution. The bands are "
          "95 % intervals. The page of a run with generate.search adds process reward models."};
}

report::Figure copies_figure(const CollectPlots& plots) {
  report::BarChart chart;
  chart.title = "Questions of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "questions";
  chart.css = "c3";
  for (std::size_t copy = 0; copy < plots.questions_of_copies.size(); ++copy)
    chart.bars.push_back(
        {std::to_string(copy), static_cast<double>(plots.questions_of_copies[copy])});
  return {"Questions of each copy of the model", report::svg_bars(chart),
          "A copy is a rank, or a group of ranks. Only the attempt that finished the run counts."};
}

report::Table steps_table(const CollectPlots& plots) {
  report::Table table{"Steps of the drawn questions",
                      {"question", "path", "step", "value", "right answers", "text"},
                      {},
                      {},
                      true};
  for (const CollectPlots::Shown& shown : plots.shown)
    for (std::size_t p = 0; p < std::min(shown.tree.paths.size(), kDrawnPaths); ++p) {
      const std::vector<ReadStep>& steps = shown.tree.paths[p].steps;
      for (std::size_t s = 0; s < std::min(steps.size(), kDrawnSteps); ++s)
        table.rows.push_back({report::grouped(shown.question), std::to_string(p),
                              std::to_string(s + 1), report::text_of("%.3f", steps[s].value),
                              report::text_of("%d of %d", steps[s].right, steps[s].visits),
                              report::clip(steps[s].text, kShownCharacters)});
    }
  return table;
}

}  // namespace

void CollectPage::record(report::RunSummary& summary) const {
  std::vector<double> means;
  for (std::size_t s = 0; s < plots_.counts_at.size(); ++s)
    means.push_back(plots_.sums_at[s] / static_cast<double>(plots_.counts_at[s]));
  if (!means.empty()) summary.series["value_by_step"] = std::move(means);
}

report::HtmlPage CollectPage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = plots_.paths == 0
                        ? report::plain_headline(summary)
                        : report::counted(plots_.paths, "solution") + " of " +
                              report::counted(plots_.questions, "question") + " have values for " +
                              report::counted(plots_.steps, "step") + ".";
  for (const report::Result& result : summary.results)
    report.tiles.push_back(report::tile_of(result));
  report.sections = {{"What came out",
                      {value_figure(plots_), depth_figure(plots_), choice_figure(plots_),
                       calibration_figure(plots_), copies_figure(plots_)},
                      true,
                      {}}};
  report::Section trees{"Solutions of single questions", {}, false, {}};
  for (const CollectPlots::Shown& shown : plots_.shown)
    trees.figures.push_back(tree_figure(shown));
  if (!plots_.shown.empty()) trees.tables.push_back(steps_table(plots_));
  if (!plots_.shown.empty()) report.sections.push_back(std::move(trees));
  report.tables.push_back({"What was collected",
                           {"setting", "value"},
                           {{"paths, rollouts and draws", plots_.settings}},
                           {},
                           true});
  return report;
}

}  // namespace mgpu::jobs
