#include "page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <mgpu/report/text_format.hpp>

#include "recipes/step_charts.hpp"
#include "svg_grid_path.hpp"

namespace mgpu::recipes {
namespace {

using PerEpisode = AdPlots::PerEpisode;

/// Describes a curve over the episodes of a context. `values` and `band` are the members of
/// PerEpisode that have the values and the band of the curve. The curve `early` has no band,
/// because evaluations during training keep only means.
struct EpisodeCurve {
  const char* name;
  const char* label;
  const char* css;
  std::vector<double> PerEpisode::*values;
  AdPlots::Band PerEpisode::*band;
};
constexpr std::array kEpisodeCurves = {
    EpisodeCurve{"late", "trained agent", "c1", &PerEpisode::late, &PerEpisode::late_band},
    EpisodeCurve{"early", "early checkpoint", "c2", &PerEpisode::early, nullptr},
    EpisodeCurve{"source", "source algorithm", "c3", &PerEpisode::source, &PerEpisode::source_band},
    EpisodeCurve{"clear_context", "context cleared", "c4", &PerEpisode::clear_context,
                 &PerEpisode::clear_context_band},
    EpisodeCurve{"hide_rewards", "rewards hidden", "c5", &PerEpisode::hide_rewards,
                 &PerEpisode::hide_rewards_band},
};

std::string series_name(const EpisodeCurve& row) {
  return std::string("return_per_episode.") + row.name;
}

std::string ordinal(std::size_t n) {
  static constexpr std::array<const char*, 11> kWords = {"zeroth", "first", "second", "third",
                                                         "fourth", "fifth", "sixth",  "seventh",
                                                         "eighth", "ninth", "tenth"};
  return n < kWords.size() ? kWords[n] : report::text_of("%zuth", n);
}

report::Curve over_episodes(const std::vector<double>& values) {
  report::Curve curve;
  for (std::size_t i = 0; i < values.size(); ++i) {
    curve.x.push_back(static_cast<double>(i + 1));
    curve.y.push_back(values[i]);
  }
  return curve;
}

std::string label_of(const EpisodeCurve& row, const PerEpisode& episodes) {
  const std::string name = row.name;
  if (name == "early")
    return report::text_of("after %lld steps", static_cast<long long>(episodes.early_step));
  if (name == "late" && episodes.late_step > 0)
    return report::text_of("after %lld steps", static_cast<long long>(episodes.late_step));
  return row.label;
}

report::Figure episode_figure(const AdPlots& plots) {
  const PerEpisode& episodes = plots.episodes;
  if (episodes.late.empty()) return {};
  report::LineChart chart;
  chart.title = "Mean return of each episode inside the context";
  chart.x_label = "episode inside one context (weights frozen)";
  chart.y_label = "return per episode";
  chart.height = 430;
  chart.whole_x = true;
  chart.from_zero = true;
  if (episodes.optimum > 0)
    chart.levels.push_back({report::text_of("%.2f  optimum", episodes.optimum), episodes.optimum});
  if (episodes.random > 0)
    chart.levels.push_back(
        {report::text_of("%.2f  random policy", episodes.random), episodes.random});
  // The main curve is drawn last, so that it is on top of the others.
  for (auto row = kEpisodeCurves.rbegin(); row != kEpisodeCurves.rend(); ++row) {
    const std::vector<double>& values = episodes.*(row->values);
    if (values.empty()) continue;
    report::DrawnCurve drawn{label_of(*row, episodes), over_episodes(values), row->css};
    drawn.dots = true;
    drawn.emphasis = row->values == &PerEpisode::late;
    drawn.dashed = row->values == &PerEpisode::source;
    if (row->band != nullptr) {
      drawn.low = (episodes.*(row->band)).low;
      drawn.high = (episodes.*(row->band)).high;
    }
    drawn.key = "/series/" + series_name(*row) + '/' + std::to_string(values.size() - 1);
    chart.curves.push_back(std::move(drawn));
  }
  std::string caption =
      "Each agent starts with an empty context on goals that were never trained on. A rise means "
      "that it learns from the episodes before, without any change of its weights.";
  if (!episodes.late_band.low.empty()) caption += " Bands: " + episodes.band + '.';
  if (!episodes.late_band.low.empty() && !episodes.early.empty())
    caption += " Of the early weights only the means are kept.";
  if (!episodes.hide_rewards.empty() || !episodes.clear_context.empty())
    caption +=
        " The controls must not rise: without rewards, or without earlier episodes, there is "
        "nothing to learn from.";
  return {"Learning inside the context", report::svg_line_chart(chart), caption};
}

report::Figure loss_figure(const AdPlots& plots) {
  if (plots.train_loss.empty()) return {};
  report::LineChart chart =
      step_chart("Loss over optimizer steps", "loss (nats per action)", plots.learning_rate);
  chart.label_decimals = 3;
  chart.curves.push_back(banded_curve("train", "train_loss", plots.train_loss, "c2"));
  return loss_chart_figure("Loss", std::move(chart),
                           band_caption(plots.train_loss) +
                               report::text_of(" A guess costs ln %d = %.3f.", plots.num_actions,
                                               std::log(plots.num_actions)));
}

report::Figure return_figure(const AdPlots& plots) {
  if (plots.eval_return.empty()) return {};
  report::LineChart chart = step_chart("Return over optimizer steps",
                                       "return, mean of all episodes", plots.learning_rate);
  chart.from_zero = true;
  report::DrawnCurve drawn{"unseen", report::thinned(plots.eval_return, kShownPoints), "c1"};
  drawn.emphasis = true;
  drawn.dots = plots.eval_return.x.size() <= 60;
  drawn.key = series_key("eval_return", plots.eval_return);
  chart.curves.push_back(std::move(drawn));
  if (plots.episodes.optimum > 0) chart.levels.push_back({"optimum", plots.episodes.optimum});
  return {"Return", report::svg_line_chart(chart), "Each evaluation: unseen goals, empty context."};
}

std::string walk_html(const AdPlots& plots, const AdPlots::Walk& walk) {
  const auto one = [&](const std::vector<std::pair<int, int>>& cells, int episode, double reward) {
    const std::string title = report::text_of("Path of episode %d, goal (%d, %d), return %.0f",
                                              episode, walk.goal.first, walk.goal.second, reward);
    return "<div>" + svg_grid_path({cells, walk.goal, plots.grid, title}) +
           report::text_of("episode %d: <b>%.0f</b></div>\n", episode, reward);
  };
  return report::text_of("<div class=\"pair\"><p>goal (%d, %d)</p>\n", walk.goal.first,
                         walk.goal.second) +
         one(walk.first, 1, walk.first_return) +
         one(walk.last, plots.last_episode, walk.last_return) + "</div>\n";
}

report::Figure walk_figure(const AdPlots& plots) {
  if (plots.walks.empty()) return {};
  std::string html = "<div class=\"paths\">\n";
  for (const AdPlots::Walk& walk : plots.walks)
    html += walk_html(plots, walk);
  return {"The same agent, first and last episode", html + "</div>\n",
          "One run per goal. The yellow cell is the goal, which the agent cannot see; the open dot "
          "is the start, the filled dot the end. The number is the return: steps spent on the "
          "goal, of " +
              std::to_string(plots.horizon) + "."};
}

std::vector<report::Tile> tiles_of(const AdPlots& plots, const report::RunSummary& summary) {
  std::vector<report::Tile> tiles;
  const PerEpisode& episodes = plots.episodes;
  if (!episodes.late.empty()) {
    const std::string at = "/series/return_per_episode.late/";
    const std::size_t last = episodes.late.size();
    tiles.push_back({report::text_of("%.1f", episodes.late.back()),
                     report::text_of("return in episode %zu, unseen goals", last),
                     at + std::to_string(last - 1)});
    tiles.push_back(
        {report::text_of("%.1f", episodes.late.front()), "return in episode 1", at + "0"});
  }
  for (const report::Result& result : summary.results)
    if (result.key == "optimum_share") tiles.push_back(report::tile_of(result));
  if (summary.steps_per_second > 0)
    tiles.push_back(
        {report::rate_text(summary.steps_per_second), "steps per second", "/steps_per_second"});
  return tiles;
}

report::Table episode_table(const PerEpisode& episodes) {
  report::Table table{"Return per episode, unseen goals", {"episode"}, {}, {}};
  std::size_t longest = 0;
  for (const EpisodeCurve& row : kEpisodeCurves)
    longest = std::max(longest, (episodes.*(row.values)).size());
  for (std::size_t e = 1; e <= longest; ++e)
    table.head.push_back(std::to_string(e));
  for (const EpisodeCurve& row : kEpisodeCurves) {
    const std::vector<double>& values = episodes.*(row.values);
    if (values.empty()) continue;
    std::vector<std::string> cells{label_of(row, episodes)};
    std::vector<std::string> keys{""};
    for (std::size_t e = 0; e < values.size(); ++e) {
      cells.push_back(report::text_of("%.1f", values[e]));
      keys.push_back("/series/" + series_name(row) + '/' + std::to_string(e));
    }
    table.rows.push_back(std::move(cells));
    table.keys.push_back(std::move(keys));
  }
  return table;
}

}  // namespace

void AdPage::record(report::RunSummary& summary) const {
  const PerEpisode& episodes = plots_.episodes;
  for (const EpisodeCurve& row : kEpisodeCurves)
    if (!(episodes.*(row.values)).empty())
      summary.series[series_name(row)] = episodes.*(row.values);
  const std::array curves = {std::pair{"train_loss", &plots_.train_loss},
                             std::pair{"eval_return", &plots_.eval_return}};
  for (const auto& [name, curve] : curves)
    if (!curve->empty()) summary.series[name] = report::thinned(*curve, kShownPoints).y;
  if (episodes.late.empty()) return;
  const std::size_t last = episodes.late.size();
  summary.results.push_back({"return_first_episode", "return in episode 1", episodes.late.front()});
  summary.results.push_back({"return_last_episode", report::text_of("return in episode %zu", last),
                             episodes.late.back()});
  if (episodes.optimum > 0)
    summary.results.push_back({"optimum_share", "of the best possible return",
                               100.0 * episodes.late.back() / episodes.optimum, "%", 0});
}

std::string ad_headline(const AdPlots& plots, const report::RunSummary& summary) {
  const PerEpisode& episodes = plots.episodes;
  if (episodes.late.size() < 2) return report::plain_headline(summary);
  const double first = episodes.late.front();
  const double last = episodes.late.back();
  const double best = std::max(episodes.optimum, last);
  const std::string name = ordinal(episodes.late.size());
  if (last - first < 0.25 * (best - first))
    return report::text_of(
        "The agent does not yet learn inside its context: on goals it never saw, its "
        "return is %.1f in the first episode and %.1f in the %s.",
        first, last, name.c_str());
  std::string text = report::text_of(
      "On goals it never saw, the agent\u2019s return rises from %.1f in its "
      "first episode to %.1f in its %s, with frozen weights",
      first, last, name.c_str());
  if (episodes.optimum > 0)
    text += report::text_of(": %.0f %% of the best possible", 100.0 * last / episodes.optimum);
  return text + '.';
}

report::HtmlPage AdPage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = ad_headline(plots_, summary);
  report.tiles = tiles_of(plots_, summary);
  report.sections = {{"What it learned", {episode_figure(plots_), walk_figure(plots_)}},
                     {"How it was trained", {loss_figure(plots_), return_figure(plots_)}, true}};
  if (!plots_.episodes.late.empty()) report.tables = {episode_table(plots_.episodes)};
  return report;
}

}  // namespace mgpu::recipes
