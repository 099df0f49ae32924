#include "page.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <mgpu/report/svg.hpp>
#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/svg_chart.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kDrawnPaths = 16;  // only the first paths of a question are drawn
constexpr std::size_t kDrawnSteps = 16;  // only the first steps of a path are drawn
constexpr std::size_t kShownCharacters = 200;
constexpr double kFieldWidth = 40;
constexpr double kFieldHeight = 20;
constexpr double kTreeLeft = 60;
constexpr double kTreeTop = 22;

std::string hover_text(const ReadStep& step, std::size_t path, std::size_t number) {
  return report::text_of("path %zu, step %zu: value %.2f, %d of %d answers are right (+- %.2f)\n",
                         path, number, step.value, step.right, step.visits, step.standard_error) +
         report::clip(step.text, kShownCharacters);
}

void draw_path(report::Svg& svg, const ReadPath& path, std::size_t number) {
  const double y = kTreeTop + static_cast<double>(number) * (kFieldHeight + 4);
  svg.text({kTreeLeft - 8, y + 14}, report::text_of("path %zu", number), "tick",
           report::Anchor::end);
  const std::size_t drawn = std::min(path.steps.size(), kDrawnSteps);
  double x = kTreeLeft;
  for (std::size_t s = 0; s < drawn; ++s, x += kFieldWidth + 2) {
    const ReadStep& step = path.steps[s];
    svg.open("", 0.12 + 0.88 * step.value);
    svg.rect({x, y}, {kFieldWidth, kFieldHeight}, "c1 bar", 3, hover_text(step, number, s + 1));
    svg.close();
  }
  const std::string end = drawn < path.steps.size() ? "... " : "";
  svg.text({x + 4, y + 14}, end + (path.is_right ? "right" : "wrong"), "tick");
}

report::Figure tree_figure(const CollectPlots::Shown& shown) {
  const std::string question = report::clip(shown.tree.prompt, kShownCharacters);
  return {"The " + shown.name + " question: " + report::grouped(shown.question),
          svg_step_tree(shown),
          "\"" + question +
              "\" A field is a step of a solution. The stronger its color, the higher is its "
              "value. Its text and value appear when the pointer is over it."};
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

report::Figure depth_figure(const CollectPlots& plots) {
  if (plots.counts_at.size() < 2) return {};
  report::DrawnCurve curve{"mean value", {}, "c1"};
  curve.dots = true;
  for (std::size_t s = 0; s < plots.counts_at.size(); ++s) {
    curve.curve.x.push_back(static_cast<double>(s + 1));
    curve.curve.y.push_back(plots.sums_at[s] / static_cast<double>(plots.counts_at[s]));
  }
  report::LineChart chart;
  chart.title = "Mean value of the steps over their number";
  chart.x_label = "step of a solution";
  chart.y_label = "mean value";
  chart.width = 520;
  chart.height = 260;
  chart.label_width = 122;
  chart.label_decimals = 3;
  chart.from_zero = true;
  chart.whole_x = true;
  chart.curves = {std::move(curve)};
  return {"Mean value by step", report::svg_line_chart(chart),
          "Later steps exist in longer solutions only."};
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

void CollectPlots::add(const ReadTree& tree) {
  for (const ReadPath& path : tree.paths)
    for (std::size_t s = 0; s < path.steps.size(); ++s) {
      if (s >= sums_at.size()) {
        sums_at.push_back(0.0);
        counts_at.push_back(0);
      }
      sums_at[s] += path.steps[s].value;
      ++counts_at[s];
      percents.push_back(std::llround(100.0 * path.steps[s].value));
    }
}

std::string svg_step_tree(const CollectPlots::Shown& shown) {
  const std::size_t paths = std::min(shown.tree.paths.size(), kDrawnPaths);
  std::size_t steps = 0;
  for (std::size_t p = 0; p < paths; ++p)
    steps = std::max(steps, std::min(shown.tree.paths[p].steps.size(), kDrawnSteps));
  report::Svg svg(kTreeLeft + static_cast<double>(steps) * (kFieldWidth + 2) + 70,
                  kTreeTop + static_cast<double>(paths) * (kFieldHeight + 4),
                  "Steps of the solutions of question " + report::grouped(shown.question));
  for (std::size_t s = 0; s < steps; ++s)
    svg.text({kTreeLeft + (kFieldWidth + 2) * static_cast<double>(s) + kFieldWidth / 2, 14},
             report::text_of("step %zu", s + 1), "tick", report::Anchor::middle);
  for (std::size_t p = 0; p < paths; ++p)
    draw_path(svg, shown.tree.paths[p], p);
  return svg.str();
}

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
  report.sections = {{"What came out", {value_figure(plots_), depth_figure(plots_)}, true, {}}};
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
