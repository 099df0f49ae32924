#include "evaluation_tables.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include <mgpu/store/results/small_table.hpp>

namespace mgpu::jobs {
namespace {

/// The columns of table `evaluation`.
struct Means {
  std::vector<std::string> metric{};
  std::vector<std::string> group{};
  std::vector<double> mean{};
  std::vector<double> error{};
  std::vector<double> low{};
  std::vector<double> high{};
  std::vector<std::int64_t> prompts{};

  void add(const PromptMetric& of, const std::string& in_group, const Estimate& estimate) {
    metric.push_back(of.key);
    group.push_back(in_group);
    mean.push_back(estimate.mean);
    error.push_back(estimate.standard_error);
    low.push_back(estimate.low);
    high.push_back(estimate.high);
    prompts.push_back(estimate.count);
  }
};

store::SmallTable mean_table(const Evaluation& evaluation) {
  Means means;
  for (const PromptMetric& metric : evaluation.metrics)
    means.add(metric, "", estimate_of(evaluation, metric));
  if (evaluation.has_groups())
    for (const std::string& group :
         std::set<std::string>(evaluation.groups.begin(), evaluation.groups.end()))
      for (const PromptMetric& metric : evaluation.metrics)
        if (!group.empty()) means.add(metric, group, estimate_of(evaluation, metric, group));
  return store::make_small_table(
      "evaluation", {{"metric", means.metric, "a column of table prompts"},
                     {"group", means.group, "column `group` of the rows; empty: all prompts"},
                     {"mean", means.mean, "mean over the prompts that have a value"},
                     {"standard_error", means.error, "NaN for fewer than two prompts"},
                     {"low", means.low, "lower end of the 95 % interval of the mean"},
                     {"high", means.high, "upper end of the 95 % interval of the mean"},
                     {"prompts", means.prompts, "prompts that have a value", "prompts"}});
}

store::SmallTable prompt_table(const Evaluation& evaluation) {
  std::vector<store::SmallColumn> columns = {
      {"prompt_index", evaluation.prompts, "line of the prompt in the input, from 0"},
      {"prompt_crc32c", evaluation.checksums, "CRC-32C of the prompt in the input, as JSON"},
      {"samples", evaluation.samples, "completions of the prompt"}};
  if (evaluation.has_groups()) {
    columns.push_back({"group", evaluation.groups, "column `group` of the row"});
  }
  if (!evaluation.right.empty())
    columns.push_back({"right", evaluation.right, "completions that are right"});
  for (const PromptMetric& metric : evaluation.metrics)
    columns.push_back({metric.key, metric.values, metric.label + "; NaN: no value", metric.units});
  return store::make_small_table("prompts", columns);
}

}  // namespace

std::vector<store::SmallTable> evaluation_tables(const Evaluation& evaluation) {
  return {mean_table(evaluation), prompt_table(evaluation)};
}

std::vector<report::Result> evaluation_results(const Evaluation& evaluation) {
  std::vector<report::Result> results;
  for (const PromptMetric& metric : evaluation.metrics) {
    const Estimate estimate = estimate_of(evaluation, metric);
    if (estimate.count == 0) continue;  // no prompt has a value
    results.push_back({metric.key, metric.label, estimate.mean, metric.units, 4, estimate});
  }
  return results;
}

}  // namespace mgpu::jobs
