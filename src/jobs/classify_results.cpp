#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/agree.hpp>
#include <mgpu/jobs/classify_metrics.hpp>
#include <mgpu/jobs/classify_results.hpp>
#include <mgpu/jobs/classify_table.hpp>
#include <mgpu/jobs/model_keys.hpp>
#include <mgpu/jobs/run_speeds.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/chunk_payload.hpp>
#include <mgpu/store/read_table.hpp>
#include <mgpu/store/read_texts.hpp>
#include <mgpu/store/small_table.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;
using report::ClassifyPictures;
using report::Curve;
using report::ShownRate;

constexpr std::size_t kShownMistakes = 10;
constexpr std::size_t kScoreBins = 20;
constexpr double kRocStep = 1.0 / 400.0;       // points of the curve that a picture can tell apart
constexpr std::int64_t kRowsAtOnce = 1 << 16;  // whose groups are read

store::AttributeGroup facts_of(const ClassifyInputs& inputs) {
  const ClassifyConfig& config = inputs.config;
  std::string labels;
  for (const std::string& label : config.labels)
    labels += (labels.empty() ? "" : "\n") + label;
  return {"classify",
          {{"labels", labels},
           {"positive", static_cast<std::int64_t>(config.positive)},
           {"strategy", inputs.strategy.name},
           {"score", config.generates ? "generate" : "label_logprob"},
           {"normalize", config.is_mean ? "mean" : "sum"},
           {"max_length", inputs.max_length()}}};
}

/// Columns of all rows, on every rank.
struct Judged {
  std::span<const std::int32_t> truth, given;
  std::span<const std::uint8_t> outcome;
  std::span<const double> score, positive, confidence;

  explicit Judged(const store::ReadTable& samples)
      : truth(samples.column("true").values<std::int32_t>()),
        given(samples.column("pred").values<std::int32_t>()),
        outcome(samples.column("outcome").values<std::uint8_t>()),
        score(samples.column("score").values<double>()),
        positive(samples.column("positive").values<double>()),
        confidence(samples.column("confidence").values<double>()) {}
};

ShownRate shown(const Ratio& rate, std::int64_t whole) {
  const auto part =
      static_cast<std::int64_t>(rate.value * static_cast<double>(whole) + 0.5);  // a count again
  const auto [low, high] = wilson_interval(part, whole);
  return {rate.value, low, high, rate.is_defined};
}

void add_metrics(const Confusion& confusion, std::size_t positive, ClassifyPictures& pictures) {
  const auto add = [&](std::string key, std::string label, const Ratio& ratio) {
    pictures.metrics.push_back({std::move(key), std::move(label), ratio.value, ratio.is_defined});
  };
  const std::string& name = pictures.labels[positive];
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

/// A point for each score may be millions: those are kept that lie apart, and both ends.
void add_roc(const Roc& roc, ClassifyPictures& pictures) {
  Curve& curve = pictures.roc;
  for (std::size_t i = 0; i < roc.points.size(); ++i) {
    const RocPoint& point = roc.points[i];
    const bool is_end = i == 0 || i + 1 == roc.points.size();
    if (!is_end && point.false_positive - curve.x.back() < kRocStep &&
        point.true_positive - curve.y.back() < kRocStep)
      continue;
    curve.x.push_back(point.false_positive);
    curve.y.push_back(point.true_positive);
  }
}

/// Shapes: scores [N] in [0, 1], is_positive [N]
void add_score_bins(std::span<const double> scores, std::span<const std::uint8_t> is_positive,
                    ClassifyPictures& pictures) {
  pictures.positive_scores.assign(kScoreBins, 0);
  pictures.other_scores.assign(kScoreBins, 0);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto bin = static_cast<std::size_t>(scores[i] * static_cast<double>(kScoreBins));
    auto& counts = is_positive[i] != 0 ? pictures.positive_scores : pictures.other_scores;
    ++counts[std::min(bin, kScoreBins - 1)];
  }
}

/// ROC and calibration, where labels have probabilities.
void add_curves(const Judged& rows, std::size_t positive, ClassifyPictures& pictures) {
  std::vector<double> scores;
  std::vector<double> confidence;
  std::vector<std::uint8_t> is_positive;
  std::vector<std::uint8_t> is_right;
  for (std::size_t i = 0; i < rows.truth.size(); ++i) {
    if (rows.truth[i] < 0 || rows.given[i] < 0) continue;
    scores.push_back(rows.positive[i]);
    confidence.push_back(rows.confidence[i]);
    is_positive.push_back(std::cmp_equal(rows.truth[i], positive) ? 1 : 0);
    is_right.push_back(rows.truth[i] == rows.given[i] ? 1 : 0);
  }
  const Roc roc = roc_of(scores, is_positive);
  add_roc(roc, pictures);
  add_score_bins(scores, is_positive, pictures);
  const Calibration calibration = calibrate(confidence, is_right);
  for (const CalibrationBin& bin : calibration.bins) {
    if (bin.rows == 0) continue;
    pictures.calibration.x.push_back(bin.confidence);
    pictures.calibration.y.push_back(bin.accuracy);
    pictures.calibration_rows.push_back(bin.rows);
    const auto right = std::llround(bin.accuracy * static_cast<double>(bin.rows));
    const auto [low, high] = wilson_interval(right, bin.rows);
    pictures.calibration_low.push_back(low);
    pictures.calibration_high.push_back(high);
  }
  pictures.metrics.push_back(
      {"roc_auc", "area under the ROC curve", roc.area.value, roc.area.is_defined});
  pictures.metrics.push_back(
      {"calibration_error", "expected calibration error", calibration.error, !confidence.empty()});
}

/// For the rank that reads the names.
void add_groups(const fs::path& path, const Judged& rows, std::size_t positive,
                ClassifyPictures& pictures) {
  std::map<std::string, Confusion> confusions;
  for (std::int64_t first = 0; first < std::ssize(rows.truth); first += kRowsAtOnce) {
    const std::vector<std::string> names =
        store::read_texts(path, "samples", "target_group_norm", first, kRowsAtOnce);
    mark_progress();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t row = static_cast<std::size_t>(first) + i;
      if (names[i].empty() || rows.truth[row] < 0) continue;
      const auto [group, is_new] = confusions.try_emplace(names[i], pictures.labels.size());
      group->second.add(rows.truth[row], rows.given[row]);
    }
  }
  for (const auto& [name, confusion] : confusions) {
    const ErrorRates rates = error_rates(confusion, positive);
    const std::int64_t positives = confusion.rows_of(positive);
    pictures.groups.push_back({name, confusion.rows(),
                               shown(accuracy_of(confusion), confusion.rows()),
                               shown(rates.false_positive, confusion.rows() - positives),
                               shown(rates.false_negative, positives), rates.is_fair()});
  }
}

/// The wrong rows that the model was most sure of; equal ones in the order of the input. Rows that
/// it did not see are none.
std::vector<std::size_t> worst_mistakes(const Judged& rows, std::span<const double> sureness) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < rows.truth.size(); ++i) {
    const auto outcome = static_cast<ClassifyOutcome>(rows.outcome[i]);
    if (outcome == ClassifyOutcome::too_long || outcome == ClassifyOutcome::bad_row) continue;
    if (rows.truth[i] >= 0 && rows.truth[i] != rows.given[i]) wrong.push_back(i);
  }
  std::ranges::stable_sort(wrong,
                           [&](std::size_t a, std::size_t b) { return sureness[a] > sureness[b]; });
  wrong.resize(std::min(wrong.size(), kShownMistakes));
  return wrong;
}

void add_mistakes(const fs::path& path, const Judged& rows, ClassifyPictures& pictures) {
  const auto text = [&](const char* column, std::size_t row) {
    return store::read_texts(path, "samples", column, static_cast<std::int64_t>(row), 1).front();
  };
  // A generated answer has no probability among the labels, but one of its own.
  const std::span<const double> sureness =
      pictures.has_probabilities ? rows.confidence : rows.score;
  for (const std::size_t row : worst_mistakes(rows, sureness))
    pictures.mistakes.push_back({text("input_text", row), text("true_label", row),
                                 text("predicted_label", row), sureness[row]});
}

ClassifyPictures pictures_of(const cluster::Group& world, const fs::path& path,
                             const ClassifyConfig& config) {
  const store::ReadTable samples = store::read_table(world, path, "samples");
  const Judged rows(samples);
  ClassifyPictures pictures;
  pictures.labels = config.labels;
  pictures.positive = config.labels[config.positive];
  pictures.rows = samples.rows;
  pictures.has_probabilities = !config.generates;
  Confusion confusion(config.labels.size());
  for (std::size_t i = 0; i < rows.truth.size(); ++i) {
    ++pictures.outcomes[name_of(static_cast<ClassifyOutcome>(rows.outcome[i]))];
    confusion.add(rows.truth[i], rows.given[i]);
  }
  pictures.judged = confusion.rows();
  pictures.confusion = confusion.counts();
  add_metrics(confusion, config.positive, pictures);
  if (pictures.has_probabilities) add_curves(rows, config.positive, pictures);
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    add_groups(path, rows, config.positive, pictures);
    add_mistakes(path, rows, pictures);
  });
  return pictures;
}

store::SmallTable confusion_table(const ClassifyPictures& pictures) {
  const auto labels = std::ssize(pictures.labels);
  const store::TableSpec spec{
      .path = "confusion",
      .rows = labels,
      .columns = {{"label", store::ColumnType::text, 1, "true label", ""},
                  {"given", store::ColumnType::i64, labels + 1,
                   "rows that were given each label, in the order of the rows; the last: unknown",
                   ""}},
      .signal = "",
      .axis = ""};
  store::ChunkEncoder rows(spec, 0, spec.rows);
  rows.text("label", pictures.labels);
  rows.column("given", std::span<const std::int64_t>(pictures.confusion));
  return {spec, rows.finish()};
}

store::SmallTable metric_table(const ClassifyPictures& pictures) {
  std::vector<std::string> names;
  std::vector<double> values;
  std::vector<std::int64_t> is_defined;
  for (const ClassifyPictures::Metric& metric : pictures.metrics) {
    names.push_back(metric.key);
    values.push_back(metric.value);
    is_defined.push_back(metric.is_defined ? 1 : 0);
  }
  return store::make_small_table(
      "metrics", {{"name", names, "what it is; rows without an answer count as wrong"},
                  {"value", values, "0 where there is nothing to divide by"},
                  {"is_defined", is_defined, "0: there was nothing to divide by"}});
}

store::SmallTable group_table(const ClassifyPictures& pictures) {
  std::vector<std::string> names;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> is_fair;
  std::vector<double> accuracy;
  std::vector<double> positive;
  std::vector<double> negative;
  for (const ClassifyPictures::GroupErrors& group : pictures.groups) {
    names.push_back(group.name);
    rows.push_back(group.rows);
    is_fair.push_back(group.is_fair ? 1 : 0);
    accuracy.push_back(group.accuracy.value);
    positive.push_back(group.false_positive.value);
    negative.push_back(group.false_negative.value);
  }
  return store::make_small_table(
      "groups", {{"group", names, "target_group_norm of the rows"},
                 {"rows", rows, "of the group with a true label"},
                 {"accuracy", accuracy, "share that is right"},
                 {"false_positive_rate", positive, "of rows without the positive label"},
                 {"false_negative_rate", negative, "of rows with the positive label"},
                 {"is_fair", is_fair, "both rates are below 0.2"}});
}

store::SmallTable calibration_table(const ClassifyPictures& pictures) {
  return store::make_small_table(
      "calibration",
      {{"confidence", pictures.calibration.x, "mean probability of the label that was found"},
       {"accuracy", pictures.calibration.y, "share that is right"},
       {"rows", pictures.calibration_rows, "in a tenth of [0, 1]"}},
      {"accuracy", "confidence"});
}

std::vector<store::SmallTable> small_tables(const ClassifyPictures& pictures) {
  std::vector<store::SmallTable> tables{confusion_table(pictures), metric_table(pictures),
                                        group_table(pictures)};
  if (pictures.has_probabilities) tables.push_back(calibration_table(pictures));
  return tables;
}

void show_speed(const std::vector<ClassifyWork>& groups, ClassifyPictures& pictures) {
  double samples = 0.0;
  double seconds = 0.0;
  for (const ClassifyWork& group : groups) {
    const auto mine = static_cast<double>(group.samples);
    pictures.samples_per_second.push_back(group.seconds > 0.0 ? mine / group.seconds : 0.0);
    samples += mine;
    seconds = std::max(seconds, group.seconds);
  }
  pictures.total_samples_per_second = seconds > 0.0 ? samples / seconds : 0.0;
}

/// This run among those beside it. On rank 0.
void show_runs(const RunContext& run, const ClassifyInputs& inputs, std::int64_t batch,
               ClassifyPictures& pictures) {
  pictures.run_key = crc32c(run.config.identity(), inputs.phase);
  pictures.runs =
      speeds_beside(run.directory.path(), {pictures.run_key, run.topology.place().host,
                                           run.device.kind == DeviceKind::cuda ? "cuda" : "cpu"});
  const ClassifyPictures::RunSpeed mine{run.topology.world().size(),
                                        run.topology.model_group().size(), batch,
                                        pictures.total_samples_per_second, true};
  const auto is_mine = [&](const auto& other) {
    return other.ranks == mine.ranks && other.ranks_of_copy == mine.ranks_of_copy &&
           other.batch == mine.batch;
  };
  if (mine.samples_per_second > 0.0) {
    std::erase_if(pictures.runs, is_mine);
    pictures.runs.push_back(mine);
  }
  std::ranges::sort(pictures.runs, {}, [](const ClassifyPictures::RunSpeed& speed) {
    return std::tuple(speed.ranks, speed.ranks_of_copy, speed.batch);
  });
}

void tell_result(const ClassifyPictures& pictures, JobOutcome& outcome) {
  std::string text = report::grouped(pictures.rows) + " texts";
  for (const ClassifyPictures::Metric& metric : pictures.metrics) {
    if (pictures.judged == 0) break;
    outcome.results.push_back({metric.key,
                               metric.label + (metric.is_defined ? "" : " (of no rows)"),
                               metric.value, "", 4});
    if (metric.key == "accuracy" || metric.key == "f1" || metric.key == "macro_f1")
      text += "; " + metric.label + report::text_of(" %.4f", metric.value);
  }
  if (pictures.total_samples_per_second > 0.0) {
    outcome.results.push_back({"samples_per_second", "samples per second, all ranks",
                               pictures.total_samples_per_second, "samples/s", 2});
    text += "; " + report::rate_text(pictures.total_samples_per_second) + " samples/s";
  }
  outcome.result = text;
}

/// Rows without an answer are counted; rows that could not be used may be too many.
void judge_rows(RunContext& run, const ClassifyPictures& pictures, JobOutcome& outcome) {
  std::int64_t failed = 0;
  for (const auto& [name, count] : pictures.outcomes) {
    if (name == name_of(ClassifyOutcome::success)) continue;
    run.log.event(
        {"warn",
         {{"text", report::grouped(count) + " of " + report::grouped(pictures.rows) + " texts: " +
                       name + "; column `outcome` of " + run.store.result_file + " says which"}}});
    if (name == name_of(ClassifyOutcome::bad_row)) failed = count;
  }
  if (failed == 0) return;
  outcome.results.push_back(
      {"bad_rows", "rows that could not be used", static_cast<double>(failed), "", 0});
  const double share = static_cast<double>(failed) / static_cast<double>(pictures.rows);
  if (share > run.store.max_failed) outcome.exit = ExitCode::incomplete;
}

}  // namespace

store::SealRequest classify_request(const SealPlace& place, const ClassifyInputs& inputs) {
  store::SealRequest request = seal_request(place, "classify");
  if (const int ranks = summing_ranks(place.config); ranks > 1)
    request.groups.front().attributes.push_back({"ranks_of_a_model", std::int64_t{ranks}});
  request.groups.push_back(facts_of(inputs));
  request.tables = {{classify_table(inputs.rows.rows(), inputs.config), inputs.phase,
                     place.config.integer("run.chunk_size")}};
  return request;
}

SealedLabels seal_labels(const cluster::Group& world, const store::ChunkJournal& journal,
                         const SealPlace& place, const ClassifyInputs& inputs, bool may_lack_rows) {
  store::SealRequest request = classify_request(place, inputs);
  request.partial = request.partial || may_lack_rows;
  // The tables beside the rows are made of all rows, which no rank has: a first file has them.
  store::SealRequest rows = request;
  rows.path = place.directory.path() / "rows.h5.part";
  rows.what = "rows";
  rows.text = true;
  const bool is_whole = store::seal(world, journal, rows).missing_rows == 0;
  SealedLabels sealed{pictures_of(world, rows.path, inputs.config), {}};
  cluster::run_together(world, [&] {
    if (world.rank() == 0) fs::remove(rows.path);
  });
  // Groups and texts are known to rank 0 alone, which writes these tables.
  if (world.rank() == 0 && is_whole) request.small_tables = small_tables(sealed.pictures);
  sealed.report = store::seal(world, journal, request);
  return sealed;
}

void show_labels(RunContext& run, const ClassifyInputs& inputs, report::ClassifyPictures pictures,
                 const std::vector<ClassifyWork>& groups, std::int64_t batch, JobOutcome& outcome) {
  show_speed(groups, pictures);
  cluster::run_together(run.topology.world(), [&] {
    if (run.topology.world().rank() == 0) show_runs(run, inputs, batch, pictures);
  });
  tell_result(pictures, outcome);
  judge_rows(run, pictures, outcome);
  outcome.page = std::make_unique<report::ClassifyPage>(std::move(pictures));
}

}  // namespace mgpu::jobs
