#include "plots.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/activity.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "metrics.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;
using report::Curve;

constexpr std::size_t kShownMistakes = 10;
constexpr std::size_t kScoreBins = 20;
constexpr double kRocStep = 1.0 / 400.0;  // smallest distance of two points that a chart can show
constexpr std::int64_t kRowsAtOnce = 1 << 16;  // rows that are read in one call

/// Columns of table `samples` with all rows, on every rank.
struct Judged {
  std::span<const std::int32_t> truth, given;
  std::span<const std::uint8_t> status;
  std::span<const double> score, positive, confidence;

  explicit Judged(const store::ReadTable& samples)
      : truth(samples.column("true").values<std::int32_t>()),
        given(samples.column("pred").values<std::int32_t>()),
        status(samples.column("status").values<std::uint8_t>()),
        score(samples.column("score").values<double>()),
        positive(samples.column("positive").values<double>()),
        confidence(samples.column("confidence").values<double>()) {}
};

ShownRate shown(const Ratio& rate, std::int64_t whole) {
  const auto part =
      static_cast<std::int64_t>(rate.value * static_cast<double>(whole) + 0.5);  // nearest count
  const auto [low, high] = wilson_interval(part, whole);
  return {rate.value, low, high, rate.is_defined};
}

void add_metrics(const Confusion& confusion, std::size_t positive, ClassifyPlots& plots) {
  const auto add = [&](std::string key, std::string label, const Ratio& ratio) {
    plots.metrics.push_back({std::move(key), std::move(label), ratio.value, ratio.is_defined});
  };
  const std::string& name = plots.labels[positive];
  const LabelScores scores = scores_of(confusion, positive);
  const ErrorRates rates = error_rates(confusion, positive);
  add("accuracy", "accuracy", accuracy_of(confusion));
  add("precision", "precision of " + name, scores.precision);
  add("recall", "recall of " + name, scores.recall);
  add("f1", "F1 of " + name, scores.f1);
  add("macro_f1", "mean F1 over the labels", macro_f1(confusion));
  add("false_positive_rate", "false positive rate", rates.false_positive);
  add("false_negative_rate", "false negative rate", rates.false_negative);
}

/// Returns the points of `roc` that a chart needs: both ends, and points that are at least kRocStep
/// apart in one coordinate. `roc` may have millions of points, one for each score.
Curve drawn(const Roc& roc) {
  Curve curve;
  for (std::size_t i = 0; i < roc.points.size(); ++i) {
    const RocPoint& point = roc.points[i];
    const bool is_end = i == 0 || i + 1 == roc.points.size();
    if (!is_end && point.false_positive - curve.x.back() < kRocStep &&
        point.true_positive - curve.y.back() < kRocStep)
      continue;
    curve.x.push_back(point.false_positive);
    curve.y.push_back(point.true_positive);
  }
  return curve;
}

/// Adds precision, recall, F1 and support of each label.
void add_labels(const Confusion& confusion, ClassifyPlots& plots) {
  for (std::size_t label = 0; label < plots.labels.size(); ++label) {
    const LabelScores scores = scores_of(confusion, label);
    std::int64_t given = 0;
    for (std::size_t truth = 0; truth < confusion.labels(); ++truth)
      given += confusion.count(truth, label);
    const std::int64_t support = confusion.rows_of(label);
    plots.by_label.push_back({plots.labels[label], support, shown(scores.precision, given),
                              shown(scores.recall, support), scores.f1.value,
                              scores.f1.is_defined});
  }
}

/// Returns the softmax over the scores of all labels, for the label with index `place`.
/// Shapes: scores [labels], log-probabilities
double share_of(std::span<const double> scores, std::size_t place) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (const double score : scores)
    sum += std::exp(score - largest);
  return std::exp(scores[place] - largest) / sum;
}

/// Adds the ROC curve of each label against all others.
/// Ranks: local; only rank 0 calls this function, and reads the scores of the labels.
void add_each_roc(const fs::path& path, const Judged& judged, ClassifyPlots& plots) {
  const std::size_t labels = plots.labels.size();
  std::vector<std::vector<double>> probability(labels);
  std::vector<std::int32_t> truth;
  const store::ListColumn column(path, "samples", "label_scores");
  for (std::int64_t first = 0; first < column.rows(); first += kRowsAtOnce) {
    mark_progress();
    const store::ReadLists scores =
        column.read(first, std::min<std::int64_t>(kRowsAtOnce, column.rows() - first));
    for (std::int64_t row = 0; row < scores.rows(); ++row) {
      const auto place = static_cast<std::size_t>(first + row);
      const std::span<const double> of_row = scores.row<double>(row);
      if (judged.truth[place] < 0 || of_row.size() != labels) continue;
      truth.push_back(judged.truth[place]);
      for (std::size_t label = 0; label < labels; ++label)
        probability[label].push_back(share_of(of_row, label));
    }
  }
  for (std::size_t label = 0; label < labels; ++label) {
    std::vector<std::uint8_t> is_it;
    for (const std::int32_t it : truth)
      is_it.push_back(std::cmp_equal(it, label) ? 1 : 0);
    const Roc roc = roc_of(probability[label], is_it);
    plots.by_label[label].roc = drawn(roc);
    plots.by_label[label].roc_auc = roc.area.value;
  }
}

/// Counts rows in bins of their score, separately for rows whose true label is the positive label
/// and for all other rows.
/// Shapes: scores [rows] in [0, 1], is_positive [rows]
void add_score_bins(std::span<const double> scores, std::span<const std::uint8_t> is_positive,
                    ClassifyPlots& plots) {
  plots.positive_scores.assign(kScoreBins, 0);
  plots.other_scores.assign(kScoreBins, 0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto bin = static_cast<std::size_t>(scores[i] * static_cast<double>(kScoreBins));
    auto& counts = is_positive[i] != 0 ? plots.positive_scores : plots.other_scores;
    ++counts[std::min(bin, kScoreBins - 1)];
  }
}

/// Adds the ROC curve, the score histograms, the calibration, and the metrics `roc_auc` and
/// `calibration_error`. plots.has_probabilities must be true, because generated answers have no
/// probabilities of labels.
void add_curves(const Judged& judged, std::size_t positive, ClassifyPlots& plots) {
  std::vector<double> scores;
  std::vector<double> confidence;
  std::vector<std::uint8_t> is_positive;
  std::vector<std::uint8_t> is_right;
  for (std::size_t i = 0; i < judged.truth.size(); ++i) {
    if (judged.truth[i] < 0 || judged.given[i] < 0) continue;
    scores.push_back(judged.positive[i]);
    confidence.push_back(judged.confidence[i]);
    is_positive.push_back(std::cmp_equal(judged.truth[i], positive) ? 1 : 0);
    is_right.push_back(judged.truth[i] == judged.given[i] ? 1 : 0);
  }
  const Roc roc = roc_of(scores, is_positive);
  plots.roc = drawn(roc);
  add_score_bins(scores, is_positive, plots);
  const Calibration calibration = calibrate(confidence, is_right);
  for (const CalibrationBin& bin : calibration.bins) {
    if (bin.rows == 0) continue;
    plots.calibration.x.push_back(bin.confidence);
    plots.calibration.y.push_back(bin.accuracy);
    plots.calibration_rows.push_back(bin.rows);
    const auto right = std::llround(bin.accuracy * static_cast<double>(bin.rows));
    const auto [low, high] = wilson_interval(right, bin.rows);
    plots.calibration_low.push_back(low);
    plots.calibration_high.push_back(high);
  }
  plots.metrics.push_back(
      {"roc_auc", "area under the ROC curve", roc.area.value, roc.area.is_defined});
  plots.metrics.push_back(
      {"calibration_error", "expected calibration error", calibration.error, !confidence.empty()});
}

/// Adds the accuracy and the error rates of each group of rows (column `target_group_norm`).
/// Ranks: local; only rank 0 calls this function, and reads the names of the groups.
void add_groups(const fs::path& path, const Judged& judged, std::size_t positive,
                ClassifyPlots& plots) {
  std::map<std::string, Confusion> confusions;
  const store::TextColumn groups(path, "samples", "target_group_norm");
  for (std::int64_t first = 0; first < std::ssize(judged.truth); first += kRowsAtOnce) {
    const std::vector<std::string> names = groups.read(first, kRowsAtOnce);
    mark_progress();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t row = static_cast<std::size_t>(first) + i;
      if (names[i].empty() || judged.truth[row] < 0) continue;
      const auto [group, is_new] = confusions.try_emplace(names[i], plots.labels.size());
      group->second.add(judged.truth[row], judged.given[row]);
    }
  }
  for (const auto& [name, confusion] : confusions) {
    const ErrorRates rates = error_rates(confusion, positive);
    const std::int64_t positives = confusion.rows_of(positive);
    plots.groups.push_back({name, confusion.rows(), shown(accuracy_of(confusion), confusion.rows()),
                            shown(rates.false_positive, confusion.rows() - positives),
                            shown(rates.false_negative, positives), rates.is_fair()});
  }
}

/// Returns the indices of at most kShownMistakes wrong rows: those with the highest `sureness`, the
/// highest first. Rows with equal values are in the order of the input. Rows with the status
/// too_long or bad_row are excluded, because the model did not see them.
std::vector<std::size_t> worst_mistakes(const Judged& judged, std::span<const double> sureness) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < judged.truth.size(); ++i) {
    const auto status = static_cast<rows::RowStatus>(judged.status[i]);
    if (status == rows::RowStatus::too_long || status == rows::RowStatus::bad_row) continue;
    if (judged.truth[i] >= 0 && judged.truth[i] != judged.given[i]) wrong.push_back(i);
  }
  std::ranges::stable_sort(wrong,
                           [&](std::size_t a, std::size_t b) { return sureness[a] > sureness[b]; });
  wrong.resize(std::min(wrong.size(), kShownMistakes));
  return wrong;
}

void add_mistakes(const fs::path& path, const Judged& judged, ClassifyPlots& plots) {
  const auto text = [&](const char* column, std::size_t row) {
    return store::read_texts(path, "samples", column, static_cast<std::int64_t>(row), 1).front();
  };
  // If answers are generated, labels have no probabilities, so there is no confidence. The score of
  // an answer, which is its log-probability, takes its place.
  const std::span<const double> sureness =
      plots.has_probabilities ? judged.confidence : judged.score;
  for (const std::size_t row : worst_mistakes(judged, sureness))
    plots.mistakes.push_back({text("input_text", row), text("true_label", row),
                              text("predicted_label", row), sureness[row]});
}

}  // namespace

ClassifyPlots plots_of(const cluster::Group& world, const fs::path& path,
                       const ClassifyConfig& config) {
  const store::ReadTable samples = store::read_table(world, path, "samples");
  const Judged judged(samples);
  ClassifyPlots plots;
  plots.labels = config.labels;
  plots.positive = config.labels[config.positive];
  plots.rows = samples.rows;
  const auto tokens = samples.column("n_prompt_tokens").values<std::int32_t>();
  plots.prompt_tokens.assign(tokens.begin(), tokens.end());
  plots.has_probabilities = !config.generates;
  Confusion confusion(config.labels.size());
  for (std::size_t i = 0; i < judged.truth.size(); ++i) {
    ++plots.outcomes[outcome_of(static_cast<rows::RowStatus>(judged.status[i]), judged.given[i])];
    confusion.add(judged.truth[i], judged.given[i]);
  }
  plots.judged = confusion.rows();
  plots.confusion = confusion.counts();
  plots.has_positive = plots.labels.size() == 2 || config.has_positive;
  add_labels(confusion, plots);
  add_metrics(confusion, config.positive, plots);
  if (plots.has_probabilities) add_curves(judged, config.positive, plots);
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    if (!plots.has_positive && plots.has_probabilities) add_each_roc(path, judged, plots);
    add_groups(path, judged, config.positive, plots);
    add_mistakes(path, judged, plots);
  });
  return plots;
}

}  // namespace mgpu::jobs
