#include "page.hpp"

#include <algorithm>

#include <mgpu/report/svg_bars.hpp>
#include <mgpu/report/text_format.hpp>

#include "charts.hpp"
#include "entropy_text.hpp"

namespace mgpu::jobs {
namespace {

// The chart of lengths ends at this multiple of the allowed length. Its last bar also counts all
// longer samples.
constexpr std::int64_t kLongestBar = 4;

report::Figure text_figure(const TeacherPlots& plots) {
  std::string caption =
      "The color of a token is the entropy of what the teacher expected in its place, made of " +
      plots.entropy_of +
      ". Point at a token, or tap it, to read what was expected; \u25E6 is a token that is no "
      "whole character; the next one shows it.";
  const bool has_prompt = std::ranges::any_of(plots.texts, [](const ShownText& text) {
    return std::ranges::any_of(text.shown, [](const ShownToken& t) { return !t.is_learned; });
  });
  if (has_prompt) caption += " Tokens of a prompt are in italics.";
  return {"Texts, colored by how unsure the teacher was", entropy_html(plots.texts), caption};
}

std::string total_text(std::int64_t bytes_per_token, const TeacherPlots& plots) {
  return report::bytes_text(static_cast<std::uint64_t>(bytes_per_token) *
                            static_cast<std::uint64_t>(plots.tokens));
}

report::Figure mass_figure(const TeacherPlots& plots) {
  if (plots.mass.points.empty()) {
    const std::string words =
        plots.drawn.empty() ? "" : "<p class=\"words\">" + plots.drawn + "</p>";
    return {"What the draws cost", words};
  }
  const KeptMass::Point& last = plots.mass.points.back();
  std::string seen = plots.mass.tokens_seen < plots.tokens ? " tokens spread over the file"
                                                           : " tokens, all there are";
  return {"Probability that the k best tokens keep", svg_kept_mass(plots.mass),
          "Of " + report::grouped(plots.mass.tokens_seen) + std::move(seen) +
              ". Below: bytes of a token's targets. This run keeps k = " + report::grouped(last.k) +
              ", " + report::percent(last.mean) + " on average; its tokens take " +
              total_text(last.bytes_fp16, plots) + " as fp16, " +
              total_text(last.bytes_packed, plots) + " packed."};
}

report::Table mass_table(const TeacherPlots& plots) {
  report::Table table{"Probability mass and file size for the best k tokens of each list",
                      {"k", "kept on average", "a tenth keeps less than", "fp16, a token",
                       "fp16, all", "packed, a token", "packed, all"},
                      {}};
  for (const KeptMass::Point& point : plots.mass.points)
    table.rows.push_back(
        {report::grouped(point.k), report::percent(point.mean, 2), report::percent(point.low, 2),
         report::grouped(point.bytes_fp16) + " B", total_text(point.bytes_fp16, plots),
         report::grouped(point.bytes_packed) + " B", total_text(point.bytes_packed, plots)});
  return table;
}

report::Figure length_figure(const TeacherPlots& plots) {
  report::BarChart chart;
  chart.title = "How long the samples are";
  chart.x_label = "tokens before anything was cut";
  chart.y_label = "samples";
  chart.height = 330;
  const std::int64_t most = kLongestBar * std::max<std::int64_t>(plots.max_length, 1);
  std::vector<std::int64_t> lengths = plots.lengths;
  bool has_longer = false;
  for (std::int64_t& length : lengths) {
    has_longer = has_longer || length > most;
    length = std::min(length, most);
  }
  chart.bars = report::histogram(lengths, plots.is_cut, 30);
  if (std::ranges::find(plots.is_cut, 1) != plots.is_cut.end())
    chart.marked_label = "cut or left out";
  std::string caption;
  for (const auto& [status, count] : plots.statuses)
    caption += (caption.empty() ? "" : ", ") + status + " " + report::grouped(count);
  caption += "; " + report::grouped(plots.tokens_left_out) + " tokens were left out (at most " +
             report::grouped(plots.max_length) + " in a sample).";
  if (has_longer) caption += " The last bar has all samples that are longer.";
  return {"Length of the samples", report::svg_bars(chart),
          caption + " A bar is labeled with the shortest length in it."};
}

report::Figure speed_figure(const TeacherPlots& plots) {
  if (plots.tokens_per_second.size() < 2) return {};
  report::BarChart chart;
  chart.title = "Tokens per second of each copy of the model";
  chart.x_label = "copy";
  chart.y_label = "tokens/s";
  chart.css = "c3";
  chart.width = 1040;
  chart.height = 200;
  for (std::size_t g = 0; g < plots.tokens_per_second.size(); ++g)
    chart.bars.push_back({std::to_string(g), plots.tokens_per_second[g]});
  return {"Tokens per second of each copy of the model", report::svg_bars(chart),
          "Of the time in which it worked on samples, in the attempt that finished the run."};
}

report::Figure rank_figure(const TeacherPlots& plots) {
  const RankMap& map = plots.ranks;
  const bool has_times = std::ranges::any_of(map.ranks, [](const RankPart& rank) {
    return rank.busy_s + rank.waiting_s + rank.idle_s > 0.0;
  });
  std::string caption =
      has_times ? "Times are of the attempt that finished the run, from its first sample to its "
                  "last. Waiting for its copy includes passing numbers on; without samples a rank "
                  "waits for other copies or writes down what it has."
                : "The attempt that finished the run found all samples done, so it has no times.";
  if (has_times && map.on_gpu) caption += " They are what the rank's CPU sees of its GPU.";
  if (map.ranks.size() > kShownRanks)
    caption += " The first " + report::grouped(static_cast<std::int64_t>(kShownRanks)) + " of " +
               report::grouped(static_cast<std::int64_t>(map.ranks.size())) + " ranks are shown.";
  return {"Share of the model and use of time by rank", svg_rank_map(map), caption};
}

}  // namespace

double TeacherPlots::padding_share() const {
  const double rectangle = static_cast<double>(longest) * static_cast<double>(samples);
  return rectangle > 0.0 ? 1.0 - static_cast<double>(tokens) / rectangle : 0.0;
}

void TeacherPage::record(report::RunSummary& summary) const {
  for (const auto& [status, count] : plots_.statuses)
    summary.results.push_back(
        {"samples_" + status, "samples: " + status, static_cast<double>(count), "", 0});
  auto& series = summary.series;
  series["tokens_per_second_of_copies"] = plots_.tokens_per_second;
  for (const KeptMass::Point& point : plots_.mass.points) {
    series["kept_mass/k"].push_back(static_cast<double>(point.k));
    series["kept_mass/mean"].push_back(point.mean);
    series["kept_mass/tenth"].push_back(point.low);
  }
  for (const RankPart& rank : plots_.ranks.ranks) {
    series["ranks/busy_seconds"].push_back(rank.busy_s);
    series["ranks/waiting_seconds"].push_back(rank.waiting_s);
    series["ranks/idle_seconds"].push_back(rank.idle_s);
  }
}

report::HtmlPage TeacherPage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = plots_.tokens == 0
                        ? report::plain_headline(summary)
                        : "A teacher's view of " + report::grouped(plots_.tokens) + " tokens.";
  for (const report::Result& result : summary.results)
    if (!result.key.starts_with("samples_")) report.tiles.push_back(report::tile_of(result));
  report.sections = {{"Uncertainty of the teacher", {text_figure(plots_)}},
                     {"What was kept", {mass_figure(plots_), length_figure(plots_)}, true},
                     {"Who held what", {rank_figure(plots_), speed_figure(plots_)}}};
  if (!plots_.mass.points.empty()) report.tables.push_back(mass_table(plots_));
  return report;
}

}  // namespace mgpu::jobs
