#include "page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/report/text_format.hpp>

#include "recipes/step_charts.hpp"

namespace mgpu::recipes {
namespace {

std::string unit_of(const LmPlots& plots) {
  const std::string& unit = plots.meaning.unit;
  return (unit.empty() ? "" : unit + " ") + "per " + plots.meaning.per;
}

/// Returns " (perplexity 1.45)" if `loss` is a cross-entropy, else "".
std::string perplexity_text(double loss, bool is_cross_entropy) {
  return is_cross_entropy ? report::text_of(" (perplexity %.4g)", std::exp(loss)) : "";
}

/// Returns the loss of a model that gives each token of the vocabulary the same probability.
double loss_of_guess(const LmPlots& plots) {
  return std::log(static_cast<double>(plots.vocab));
}

/// Adds a line at loss_of_guess() to a chart of cross-entropies. Adds no line if `first`, the first
/// value of the curve, is far below loss_of_guess(), because the line would leave little room for
/// the curves.
void add_guess(const LmPlots& plots, double first, report::LineChart& chart) {
  const double guess = loss_of_guess(plots);
  if (plots.vocab > 1 && first > 0.5 * guess)
    chart.levels.push_back({report::text_of("%.3f  a guess", guess), guess});
}

std::string guess_caption(const LmPlots& plots) {
  return report::text_of(" A guess among the %s tokens of the vocabulary costs ln %lld = %.3f.",
                         report::grouped(plots.vocab).c_str(), static_cast<long long>(plots.vocab),
                         loss_of_guess(plots));
}

report::DrawnCurve held_out_curve(const char* series, const report::Curve& curve) {
  report::DrawnCurve drawn{"held out", report::thinned(curve, kShownPoints), "c1"};
  drawn.emphasis = true;
  drawn.dots = curve.x.size() <= 60;
  drawn.key = series_key(series, curve);
  return drawn;
}

report::LineChart wide_chart(const char* title, const std::string& y_label, const LmPlots& plots) {
  report::LineChart chart = step_chart(title, y_label, plots.learning_rate);
  chart.label_decimals = 3;
  return chart;
}

/// Returns a chart of the training loss. The chart also shows the loss on held-out rows, unless
/// only one of the two losses is a cross-entropy.
report::Figure loss_figure(const LmPlots& plots) {
  if (plots.train_loss.empty()) return {};
  const LossMeaning& meaning = plots.meaning;
  report::LineChart chart =
      wide_chart("Loss over optimizer steps", "loss (" + unit_of(plots) + ")", plots);
  chart.curves.push_back(banded_curve("train", "train_loss", plots.train_loss, "c2"));
  const bool has_one_meaning = meaning.is_cross_entropy == meaning.held_out_is_cross_entropy;
  const bool has_held_out = !plots.held_out_loss.empty() && has_one_meaning;
  if (has_held_out) chart.curves.push_back(held_out_curve("eval_loss", plots.held_out_loss));
  std::string caption = "Training loss: " + meaning.name + ". " + band_caption(plots.train_loss);
  if (has_held_out) caption += " Held out: " + plots.held_out + ", which is not trained on.";
  if (meaning.is_cross_entropy) {
    add_guess(plots, plots.train_loss.y.front(), chart);
    caption += guess_caption(plots);
  }
  return loss_chart_figure("Loss", std::move(chart), caption);
}

/// Returns a chart of the cross-entropy of a distillation on the training data and on held-out
/// rows.
report::Figure cross_entropy_figure(const LmPlots& plots) {
  const bool has_held_out = !plots.held_out_loss.empty() && plots.meaning.held_out_is_cross_entropy;
  if (plots.meaning.is_cross_entropy || (plots.cross_entropy.empty() && !has_held_out)) return {};
  report::LineChart chart = wide_chart("Cross-entropy over optimizer steps",
                                       "cross-entropy (" + unit_of(plots) + ")", plots);
  std::string caption = "Cross-entropy of the next token of the data.";
  if (!plots.cross_entropy.empty())
    chart.curves.push_back(banded_curve("train", "cross_entropy", plots.cross_entropy, "c3"));
  if (has_held_out) {
    chart.curves.push_back(held_out_curve("eval_loss", plots.held_out_loss));
    caption += " Held out: " + plots.held_out + ", which is not trained on.";
  }
  add_guess(plots, chart.curves.front().curve.y.front(), chart);
  return loss_chart_figure("Cross-entropy", std::move(chart), caption + guess_caption(plots));
}

/// Returns a chart of the distance from the teacher, without the cross-entropy.
report::Figure distance_figure(const LmPlots& plots) {
  const report::Curve distance = distance_of(plots);
  if (distance.empty()) return {};
  report::LineChart chart = wide_chart("Distance from the teacher over optimizer steps",
                                       "distance (" + unit_of(plots) + ")", plots);
  chart.from_zero = true;
  chart.curves.push_back(banded_curve("train", "distance", distance, "c4"));
  return loss_chart_figure("Distance from the teacher", std::move(chart),
                           "Distance of the student from its teacher: " + plots.meaning.distance +
                               ". It is 0 where both give every token the same probability.");
}

report::Figure accuracy_figure(const LmPlots& plots) {
  if (plots.train_accuracy.empty()) return {};
  report::LineChart chart = wide_chart("Accuracy over optimizer steps", plots.accuracy, plots);
  chart.from_zero = true;
  chart.curves.push_back(banded_curve("train", "train_accuracy", plots.train_accuracy, "c2"));
  if (!plots.held_out_accuracy.empty())
    chart.curves.push_back(held_out_curve("eval_accuracy", plots.held_out_accuracy));
  const char* what =
      plots.goal.empty() ? "Share of the predictions that are right: " : "It is the ";
  return {"Accuracy", report::svg_line_chart(chart), what + plots.accuracy + "."};
}

constexpr std::size_t kCharacters = 300;  // maximum length of a text in the table

std::string shown(const std::string& generated) {
  return generated.empty() ? "(ends at once)" : report::clip(generated, kCharacters);
}

/// Returns a table of the texts that the trained model writes after some prompts. If the start
/// model also wrote texts, an additional column has these texts.
report::Table sample_table(const LmPlots& plots) {
  const bool compares = !plots.samples.empty() && plots.samples.front().before.has_value();
  const std::string prompts =
      plots.samples_are_held_out ? plots.held_out : std::string("the training data");
  report::Table table{(compares ? "Answers before and after the training, to prompts of "
                                : "Texts of the model after prompts of ") +
                          prompts,
                      {"prompt", "in the data", "the model, greedily", "log-probability per token"},
                      {},
                      {},
                      true};
  if (compares)
    table.head = {"prompt", "in the data", "before, greedily", "after, greedily",
                  "log-probability per token, after"};
  for (const SampleText& sample : plots.samples) {
    std::vector<std::string>& cells = table.rows.emplace_back(std::vector{
        report::clip(sample.prompt, kCharacters), report::clip(sample.expected, kCharacters)});
    if (sample.before) cells.push_back(shown(*sample.before));
    cells.push_back(shown(sample.generated));
    cells.push_back(report::text_of("%.2f nats", sample.log_prob));
  }
  return table;
}

/// Returns the curve of a value on held-out rows, in the color of the value's training curve.
report::DrawnCurve held_out_value(const ValueCurves& value, const std::string& css) {
  report::DrawnCurve drawn{value.about.name + ", held out",
                           report::thinned(value.held_out, kShownPoints), css};
  drawn.dots = true;
  drawn.key = series_key("eval_" + value.about.name, value.held_out);
  return drawn;
}

/// Returns one chart of reported values: plots.values[first] and the following values with the same
/// chart title.
report::Figure values_figure(const LmPlots& plots, std::size_t first) {
  const std::string& title = plots.values[first].about.chart;
  const std::string& unit = plots.values[first].about.unit;
  report::LineChart chart =
      wide_chart((title + " over optimizer steps").c_str(), unit.empty() ? "value" : unit, plots);
  std::string caption;
  for (std::size_t v = first; v < plots.values.size() && plots.values[v].about.chart == title;
       ++v) {
    const ValueCurves& value = plots.values[v];
    const std::string css = "c" + std::to_string(2 + v - first);
    chart.curves.push_back(banded_curve(value.about.name, value.about.name, value.train, css));
    if (!value.held_out.empty()) chart.curves.push_back(held_out_value(value, css));
    caption += (caption.empty() ? "" : ", ") + value.about.name + ": " + value.about.text;
  }
  caption += ". " + band_caption(plots.values[first].train);
  if (!plots.values[first].held_out.empty())
    caption += " With dots: " + plots.held_out + ", which is not trained on.";
  return {title, report::svg_line_chart(chart), caption};
}

/// Draws the values that the recipe reports, in one chart for each title.
void add_value_figures(const LmPlots& plots, std::vector<report::Figure>& figures) {
  for (std::size_t v = 0; v < plots.values.size(); ++v)
    if (v == 0 || plots.values[v].about.chart != plots.values[v - 1].about.chart)
      figures.push_back(values_figure(plots, v));
}

/// Adds the perplexities of losses that are cross-entropies.
void add_perplexities(const LmPlots& plots, report::RunSummary& summary) {
  if (plots.meaning.is_cross_entropy && !plots.train_loss.empty())
    summary.results.push_back(
        {"perplexity", "perplexity of the last batch", std::exp(plots.train_loss.y.back()), "", 3});
  if (plots.meaning.held_out_is_cross_entropy && !plots.held_out_loss.empty())
    summary.results.push_back({"eval_perplexity", "perplexity on " + plots.held_out,
                               std::exp(plots.held_out_loss.y.back()), "", 3});
}

void add_pace(const LmPlots& plots, report::RunSummary& summary) {
  const double per_second = summary.samples_per_second * plots.mean_tokens;
  if (per_second > 0.0)
    summary.results.push_back({"tokens_per_second", "training tokens per second", per_second,
                               "tokens/s", per_second < 100.0 ? 1 : 0});
  summary.results.push_back({"epochs", "epochs", plots.epochs, "", 2});
  if (plots.fill > 0.0)
    summary.results.push_back({"fill", "of the sequences are filled", 100.0 * plots.fill, "%", 1});
}

/// A result that the page shows as a tile, and the label of the tile.
struct TileOf {
  const char* key;
  const char* label;
};
constexpr std::array kTiles = {
    TileOf{"reward", "mean reward of the last batch"},
    TileOf{"loss", "training loss of the last batch"},
    TileOf{"cross_entropy", "cross-entropy of the last batch, per token"},
    TileOf{"distance", "distance from the teacher, per token"},
    TileOf{"perplexity", "perplexity of the last batch"},
    TileOf{"eval_loss", "loss on held-out rows"},
    TileOf{"eval_perplexity", "perplexity on held-out rows"},
    TileOf{"tokens_per_second", "of training"},
    TileOf{"epochs", "epochs: visits of each sequence"},
};

/// Returns the label of a tile. The label of a loss ends with LossMeaning::per, such as
/// ", per token".
std::string label_of(const TileOf& tile, const LmPlots& plots) {
  const bool is_loss = std::string_view(tile.key).ends_with("loss");
  return is_loss ? tile.label + (", per " + plots.meaning.per) : tile.label;
}

std::vector<report::Tile> lm_tiles(const LmPlots& plots, const report::RunSummary& summary) {
  std::vector<report::Tile> tiles;
  for (const TileOf& tile : kTiles)
    for (const report::Result& result : summary.results)
      if (result.key == tile.key) tiles.push_back(report::tile_of(result, label_of(tile, plots)));
  return tiles;
}

}  // namespace

report::Curve distance_of(const LmPlots& plots) {
  report::Curve distance;
  if (!plots.meaning.ce_weight) return distance;
  const double weight = *plots.meaning.ce_weight;
  for (std::size_t i = 0; i < plots.cross_entropy.x.size(); ++i) {
    distance.x.push_back(plots.cross_entropy.x[i]);
    distance.y.push_back((plots.train_loss.y[i] - weight * plots.cross_entropy.y[i]) /
                         (1.0 - weight));
  }
  return distance;
}

std::string goal_text(const LmPlots& plots) {
  constexpr std::size_t kMostSteps = 10;
  const auto value = std::ranges::find_if(
      plots.values, [&](const ValueCurves& curves) { return curves.about.name == plots.goal; });
  if (value == plots.values.end() || value->train.y.empty()) return "";
  const std::vector<double>& y = value->train.y;
  const std::size_t steps = std::clamp<std::size_t>(y.size() / 2, 1, kMostSteps);
  const auto mean = [&](std::size_t first) {
    const auto begin = y.begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(steps), 0.0) /
           static_cast<double>(steps);
  };
  const std::string count = steps == 1 ? "step" : std::to_string(steps) + " steps";
  return value->about.text + report::text_of(" %.4f in the last ", mean(y.size() - steps)) + count +
         report::text_of(", %.4f in the first", mean(0)) +
         (steps == 1 ? "" : " " + std::to_string(steps));
}

std::string lm_headline(const LmPlots& plots, const report::RunSummary& summary) {
  const std::vector<double>& loss = plots.train_loss.y;
  if (loss.size() < 2) return report::plain_headline(summary);
  if (std::string goal = goal_text(plots); !goal.empty()) {
    goal.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(goal.front())));
    return goal + '.';
  }
  const LossMeaning& meaning = plots.meaning;
  const bool fell = loss.back() < loss.front();
  std::string text = report::text_of(fell ? "Loss fell from %.4g to %.4g %s"
                                          : "Loss did not fall: %.4g, then %.4g %s",
                                     loss.front(), loss.back(), unit_of(plots).c_str()) +
                     perplexity_text(loss.back(), meaning.is_cross_entropy);
  if (plots.held_out_loss.empty()) return text + '.';
  const double held_out = plots.held_out_loss.y.back();
  const char* what = meaning.is_cross_entropy == meaning.held_out_is_cross_entropy
                         ? "it is"
                         : "the cross-entropy is";
  return text + report::text_of("; on %s %s %.4g", plots.held_out.c_str(), what, held_out) +
         perplexity_text(held_out, meaning.held_out_is_cross_entropy) + '.';
}

void LmPage::record(report::RunSummary& summary) const {
  const report::Curve distance = distance_of(plots_);
  const std::array curves = {std::pair{"train_loss", &plots_.train_loss},
                             std::pair{"cross_entropy", &plots_.cross_entropy},
                             std::pair{"distance", &distance},
                             std::pair{"eval_loss", &plots_.held_out_loss},
                             std::pair{"train_accuracy", &plots_.train_accuracy},
                             std::pair{"eval_accuracy", &plots_.held_out_accuracy}};
  for (const auto& [name, curve] : curves)
    if (!curve->empty()) summary.series[name] = report::thinned(*curve, kShownPoints).y;
  for (const ValueCurves& value : plots_.values) {
    summary.series[value.about.name] = report::thinned(value.train, kShownPoints).y;
    if (!value.held_out.empty())
      summary.series["eval_" + value.about.name] = report::thinned(value.held_out, kShownPoints).y;
  }
  if (!distance.empty()) {
    summary.results.push_back({"cross_entropy", "cross-entropy of the last batch",
                               plots_.cross_entropy.y.back(), "nats", 4});
    summary.results.push_back(
        {"distance", "distance from the teacher, last batch", distance.y.back(), "nats", 4});
  }
  add_perplexities(plots_, summary);
  add_pace(plots_, summary);
}

report::HtmlPage LmPage::page(const report::RunSummary& summary) const {
  report::HtmlPage report;
  report.headline = lm_headline(plots_, summary);
  report.tiles = lm_tiles(plots_, summary);
  report.sections = {{"What it learned",
                      {loss_figure(plots_), cross_entropy_figure(plots_), distance_figure(plots_),
                       accuracy_figure(plots_)},
                      true,
                      {sample_table(plots_)}}};
  std::vector<report::Figure>& figures = report.sections.front().figures;
  const auto of_loss = std::ssize(figures);
  add_value_figures(plots_, figures);
  if (!plots_.goal.empty()) std::ranges::rotate(figures, figures.begin() + of_loss);
  return report;
}

}  // namespace mgpu::recipes
