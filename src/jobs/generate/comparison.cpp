#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::array<std::string_view, 3> kFactColumns = {"prompt_index", "prompt_crc32c",
                                                          "samples"};

Failure not_comparable(const std::string& sentence, const std::string& line) {
  return Failure({"E145",
                  ExitCode::data,
                  sentence,
                  {"  " + line},
                  "two runs with the same data.path or data.dataset, data.start and "
                  "data.max_samples"});
}

void require_same_prompts(const store::ReadTable& before, const store::ReadTable& after) {
  if (before.rows != after.rows)
    throw not_comparable("the runs have different prompts", report::grouped(before.rows) + " and " +
                                                                report::grouped(after.rows) +
                                                                " prompts were evaluated");
  for (const char* name : {"prompt_index", "prompt_crc32c"}) {
    const auto mine = before.column(name).values<std::int64_t>();
    const auto theirs = after.column(name).values<std::int64_t>();
    const auto [at, other] = std::ranges::mismatch(mine, theirs);
    if (at == mine.end()) continue;
    const auto place = static_cast<std::size_t>(at - mine.begin());
    const auto index = before.column("prompt_index").values<std::int64_t>()[place];
    throw not_comparable("the runs have different prompts",
                         "prompt " + std::to_string(index) + " is the first that differs");
  }
}

std::vector<double> doubles_of(const store::ReadColumn& column) {
  if (column.spec.type == store::ColumnType::i64) {
    const auto whole = column.values<std::int64_t>();
    return {whole.begin(), whole.end()};
  }
  const auto real = column.values<double>();
  return {real.begin(), real.end()};
}

/// Adds the metric in columns `before` and `after` to the comparison. Returns the change of each
/// prompt.
std::vector<double> add_difference(const store::ReadColumn& before, const store::ReadColumn& after,
                                   Comparison& comparison) {
  std::vector<double> old_values = doubles_of(before);
  std::vector<double> new_values = doubles_of(after);
  MetricDifference metric{.key = before.spec.name};
  std::vector<double> changes;
  for (std::size_t i = 0; i < old_values.size(); ++i) {
    const double change = new_values[i] - old_values[i];  // NaN if one of the values is NaN
    changes.push_back(change);
    if (std::isnan(change)) old_values[i] = new_values[i] = change;
    if (change > 0.0) ++metric.more;
    if (change < 0.0) ++metric.less;
  }
  metric.before = estimate_mean(old_values);
  metric.after = estimate_mean(new_values);
  metric.change = estimate_mean(changes);
  comparison.metrics.push_back(std::move(metric));
  return changes;
}

std::size_t main_of(const std::vector<MetricDifference>& metrics) {
  for (const char* key : {"score", "pass_1", "reward", "kl"}) {
    const auto at = std::ranges::find(metrics, key, &MetricDifference::key);
    if (at != metrics.end()) return static_cast<std::size_t>(at - metrics.begin());
  }
  return 0;
}

}  // namespace

std::string mean_text(double value) {
  return std::isnan(value) ? "" : report::text_of("%.4f", value);
}

std::string signed_text(double value) {
  return std::isnan(value) ? "" : report::text_of("%+.4f", value);
}

Comparison compare_prompts(const store::ReadTable& before, const store::ReadTable& after) {
  require_same_prompts(before, after);
  Comparison comparison;
  std::vector<std::vector<double>> all_changes;
  const auto prompts = before.column("prompt_index").values<std::int64_t>();
  comparison.prompts.assign(prompts.begin(), prompts.end());
  for (const store::ReadColumn& column : before.columns) {
    const bool is_fact = std::ranges::find(kFactColumns, column.spec.name) != kFactColumns.end();
    const auto other = std::ranges::find_if(after.columns, [&](const store::ReadColumn& candidate) {
      return candidate.spec.name == column.spec.name && candidate.spec.type == column.spec.type;
    });
    if (is_fact || column.spec.name == "right" || other == after.columns.end()) continue;
    all_changes.push_back(add_difference(column, *other, comparison));
  }
  if (comparison.metrics.empty())
    throw not_comparable("the runs have no metric in common",
                         "tables prompts of their results have different columns");
  comparison.main = main_of(comparison.metrics);
  comparison.changes = std::move(all_changes[comparison.main]);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = report::grouped(std::ssize(comparison.prompts)) +
                     " prompts; differences are after - before, with 95 % intervals over prompts\n";
  const auto line = [&](const std::array<std::string, 7>& cells) {
    text += "  " + report::pad_right(cells[0], 18);
    for (std::size_t i = 1; i < cells.size(); ++i)
      text += report::pad_left(cells[i], i == 4 ? 22 : i > 4 ? 8 : 11);
    text += '\n';
  };
  line({"metric", "before", "after", "difference", "interval", "larger", "smaller"});
  for (const MetricDifference& metric : comparison.metrics) {
    const Estimate& change = metric.change;
    line({metric.key, mean_text(metric.before.mean), mean_text(metric.after.mean),
          signed_text(change.mean),
          change.has_interval()
              ? "[" + signed_text(change.low) + ", " + signed_text(change.high) + "]"
              : "",
          report::grouped(metric.more), report::grouped(metric.less)});
  }
  return text;
}

}  // namespace mgpu::jobs
