#include "small_tables.hpp"

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <mgpu/store/results/columns.hpp>

namespace mgpu::jobs {
namespace {

/// Counts the rows with the true label `label`, separately for each label that the model gave to
/// them.
struct ConfusionRow {
  std::string label;
  std::vector<std::int64_t> given;
};

store::SmallTable confusion_table(const ClassifyPlots& plots) {
  const auto width = static_cast<std::int64_t>(plots.labels.size() + 1);
  store::Columns<ConfusionRow> columns;
  columns.add({"label", "true label"}, [](const ConfusionRow& row) { return row.label; });
  columns.add_wide(
      {"given", "rows that were given each label, in the order of the rows; the last: unknown"},
      width, [](const ConfusionRow& row) { return row.given; });
  std::vector<ConfusionRow> rows;
  for (const std::string& label : plots.labels) {
    const auto begin = plots.confusion.begin() + std::ssize(rows) * width;
    rows.push_back({label, {begin, begin + width}});
  }
  const store::TableSpec spec = columns.table("confusion", std::ssize(rows));
  return {spec, columns.encode(spec, 0, rows)};
}

store::SmallTable metric_table(const ClassifyPlots& plots) {
  std::vector<std::string> names;
  std::vector<double> values;
  std::vector<std::int64_t> is_defined;
  for (const ClassifyPlots::Metric& metric : plots.metrics) {
    names.push_back(metric.key);
    values.push_back(metric.value);
    is_defined.push_back(metric.is_defined ? 1 : 0);
  }
  return store::make_small_table(
      "metrics", {{"name", names, "what it is; rows without an answer count as wrong"},
                  {"value", values, "0 where there is nothing to divide by"},
                  {"is_defined", is_defined, "0: there was nothing to divide by"}});
}

store::SmallTable group_table(const ClassifyPlots& plots) {
  std::vector<std::string> names;
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> is_fair;
  std::vector<double> accuracy;
  std::vector<double> positive;
  std::vector<double> negative;
  for (const ClassifyPlots::GroupErrors& group : plots.groups) {
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

store::SmallTable calibration_table(const ClassifyPlots& plots) {
  return store::make_small_table(
      "calibration",
      {{"confidence", plots.calibration.x, "mean probability of the label that was found"},
       {"accuracy", plots.calibration.y, "share that is right"},
       {"rows", plots.calibration_rows, "in a tenth of [0, 1]"}},
      {"accuracy", "confidence"});
}

}  // namespace

std::vector<store::SmallTable> small_tables(const ClassifyPlots& plots) {
  std::vector<store::SmallTable> tables{confusion_table(plots), metric_table(plots),
                                        group_table(plots)};
  if (plots.has_probabilities) tables.push_back(calibration_table(plots));
  return tables;
}

}  // namespace mgpu::jobs
