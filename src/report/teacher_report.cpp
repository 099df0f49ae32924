#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/teacher_report.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

Figure length_figure(const TeacherPictures& pictures) {
  BarChart chart;
  chart.title = "How long the samples are";
  chart.x_label = "tokens";
  chart.y_label = "samples";
  chart.bars = histogram(pictures.lengths, 30);
  std::string caption;
  for (const auto& [status, count] : pictures.statuses)
    caption += (caption.empty() ? "" : ", ") + status + " " + grouped(count);
  return {"Length of the samples", svg_bars(chart),
          caption + "; " + grouped(pictures.tokens_left_out) +
              " tokens were left out. A bar is labeled with the shortest length in it."};
}

Figure speed_figure(const TeacherPictures& pictures) {
  BarChart chart;
  chart.title = "Tokens per second of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "tokens/s";
  chart.css = "c3";
  for (std::size_t g = 0; g < pictures.tokens_per_second.size(); ++g)
    chart.bars.push_back({std::to_string(g), pictures.tokens_per_second[g]});
  return {"Tokens per second of each copy of the model", svg_bars(chart),
          "Of the time in which it worked on samples, in the attempt that finished the run."};
}

}  // namespace

double TeacherPictures::padding_share() const {
  const double rectangle = static_cast<double>(longest) * static_cast<double>(lengths.size());
  return rectangle > 0.0 ? 1.0 - static_cast<double>(tokens) / rectangle : 0.0;
}

void TeacherPage::record(RunSummary& summary) const {
  for (const auto& [status, count] : pictures_.statuses)
    summary.results.push_back({"samples_" + status.substr(0, status.find(' ')),
                               "samples: " + status, static_cast<double>(count), "", 0});
}

HtmlReport TeacherPage::page(const RunSummary& summary) const {
  HtmlReport report;
  report.headline = pictures_.tokens == 0
                        ? plain_headline(summary)
                        : "A teacher's view of " + grouped(pictures_.tokens) + " tokens.";
  for (const Result& result : summary.results)
    if (!result.key.starts_with("samples_"))
      report.tiles.push_back({text_of("%.*f", result.decimals, result.value), result.label,
                              "/results/" + result.key + "/value"});
  report.sections = {{"What came out", {length_figure(pictures_), speed_figure(pictures_)}, true}};
  return report;
}

}  // namespace mgpu::report
