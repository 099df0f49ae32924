#include "evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>

#include <mgpu/datasets/pass_rates.hpp>

#include "prompt_rows.hpp"
#include "search_choice.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

/// Returns the mean of the values that are not NaN; NaN if all are NaN.
double mean_of(std::span<const double> values) {
  return estimate_mean(values).mean;
}

/// Adds `metric` to `evaluation`. Its value for a prompt is the mean of column `metric.key` over
/// the prompt's completions.
void add_mean(const store::ReadTable& rows, std::span<const RowRange> ranges, PromptMetric metric,
              Evaluation& evaluation) {
  const auto values = find_column(rows, metric.key)->values<double>();
  for (const RowRange& range : ranges)
    metric.values.push_back(mean_of(values.subspan(range.first, range.count)));
  evaluation.metrics.push_back(std::move(metric));
}

/// The completions of all prompts, with the checks of their answers.
struct JudgedRows {
  std::span<const RowRange> ranges;
  std::span<const std::uint8_t> is_done;   // [rows] whether there is a completion
  std::span<const std::uint8_t> is_right;  // [rows]
  std::span<const std::int32_t> same_as;   // [rows]
  std::span<const double> scores{};        // [rows] column search_score; empty: no search
};

/// Adds a metric. Its value is `value(range)` for a prompt with completions, NaN for other prompts.
template <class Value>
void add_metric(const JudgedRows& judged, PromptMetric metric, Evaluation& evaluation,
                Value value) {
  for (const RowRange& range : judged.ranges)
    metric.values.push_back(judged.is_done[range.first] != 0 ? value(range) : kNoValue);
  evaluation.metrics.push_back(std::move(metric));
}

void add_rates(const JudgedRows& judged, Evaluation& evaluation) {
  for (const RowRange& range : judged.ranges) {
    const auto right = judged.is_right.subspan(range.first, range.count);
    evaluation.right.push_back(std::ranges::count(right, 1));
  }
  std::int64_t most = 1;
  for (const RowRange& range : judged.ranges)
    most = std::max(most, static_cast<std::int64_t>(range.count));
  evaluation.counts = datasets::sample_counts(most);
  add_metric(judged, {"first_right", "pass@1 of the first sample"}, evaluation,
             [&](const RowRange& range) { return judged.is_right[range.first] != 0 ? 1.0 : 0.0; });
  for (const std::int64_t k : evaluation.counts) {
    const std::string number = std::to_string(k);
    add_metric(judged, {"pass_" + number, k == 1 ? "pass@1, mean over samples" : "pass@" + number},
               evaluation, [&](const RowRange& range) {
                 const auto right = judged.is_right.subspan(range.first, range.count);
                 return datasets::pass_at_k(static_cast<std::int64_t>(range.count),
                                            std::ranges::count(right, 1), k);
               });
  }
  for (const std::int64_t k : evaluation.counts | std::views::drop(1)) {
    const std::string number = std::to_string(k);
    add_metric(judged, {"maj_" + number, "maj@" + number}, evaluation, [&](const RowRange& range) {
      const bool is_right = datasets::is_majority_right(
          judged.same_as.subspan(range.first, static_cast<std::size_t>(k)),
          judged.is_right.subspan(range.first, range.count));
      return is_right ? 1.0 : 0.0;
    });
  }
}

/// Adds a metric whose value for each prompt is metric `of` minus metric `from`. The confidence
/// interval of the new metric's mean is that of paired differences.
void add_paired_difference(const std::string& key, const std::string& label, const std::string& of,
                           const std::string& from, Evaluation& evaluation) {
  PromptMetric metric{key, label};
  const std::vector<double>& values = evaluation.find(of)->values;
  const std::vector<double>& others = evaluation.find(from)->values;
  for (std::size_t i = 0; i < values.size(); ++i)
    metric.values.push_back(values[i] - others[i]);
  evaluation.metrics.push_back(std::move(metric));
}

/// Adds the accuracy of a search that chooses among the first k completions of each prompt.
void add_search_metric(const JudgedRows& judged, SearchKind kind, PromptMetric metric,
                       std::int64_t k, Evaluation& evaluation) {
  add_metric(judged, std::move(metric), evaluation, [&](const RowRange& range) {
    const auto scores = judged.scores.subspan(range.first, static_cast<std::size_t>(k));
    const auto chosen = chosen_of(kind, scores, judged.same_as.subspan(range.first, range.count));
    return chosen && judged.is_right[range.first + *chosen] != 0 ? 1.0 : 0.0;
  });
}

/// Returns each k for which searches among the first k completions of a prompt are evaluated. With
/// beam search, the only k is the number of all completions, because the completions depend on each
/// other.
std::vector<std::int64_t> searched_counts(const Evaluation& evaluation, SearchKind chosen) {
  std::vector<std::int64_t> counts = evaluation.counts;
  const std::ptrdiff_t skipped = chosen == SearchKind::beam ? std::ssize(counts) - 1 : 1;
  counts.erase(counts.begin(), counts.begin() + std::max<std::ptrdiff_t>(skipped, 1));
  return counts;
}

/// Adds these metrics for each k of searched_counts():
/// - the accuracies of best-of-k and of the weighted vote of k completions
/// - the accuracy of search `chosen` minus pass@1, the accuracy of a random completion
/// - the accuracy of search `chosen` minus maj@k
void add_searches(const JudgedRows& judged, SearchKind chosen, Evaluation& evaluation) {
  const std::vector<std::int64_t> counts = searched_counts(evaluation, chosen);
  for (const std::int64_t k : counts) {
    const std::string number = std::to_string(k);
    add_search_metric(judged, SearchKind::best_of_n, {"best_" + number, "best-of-" + number}, k,
                      evaluation);
    add_search_metric(judged, SearchKind::weighted_vote,
                      {"weighted_" + number, "weighted vote of " + number}, k, evaluation);
  }
  evaluation.search = chosen;
  for (const std::int64_t k : counts) {
    const std::string number = std::to_string(k);
    const bool is_best = chosen != SearchKind::weighted_vote;
    const std::string key = (is_best ? "best_" : "weighted_") + number;
    const std::string label = evaluation.find(key)->label;
    add_paired_difference("over_random_" + number, label + " minus random", key, "pass_1",
                          evaluation);
    add_paired_difference("over_maj_" + number, label + " minus maj@" + number, key,
                          "maj_" + number, evaluation);
  }
}

/// If answers are checked, adds pass@k and maj@k. If the run also had a search, adds the metrics of
/// add_searches().
void add_judged(const store::ReadTable& rows, std::span<const RowRange> ranges,
                std::optional<SearchKind> search, Evaluation& evaluation) {
  const store::ReadColumn* same_as = find_column(rows, "same_as");
  const store::ReadColumn* score = find_column(rows, "score");
  if (score == nullptr) score = find_column(rows, "reward_match");
  if (same_as == nullptr || score == nullptr) return;
  std::vector<std::uint8_t> is_right;
  std::vector<std::uint8_t> is_done;
  for (const double value : score->values<double>()) {
    is_done.push_back(std::isnan(value) ? 0 : 1);
    is_right.push_back(value >= 1.0 ? 1 : 0);
  }
  JudgedRows judged{ranges, is_done, is_right, same_as->values<std::int32_t>()};
  add_rates(judged, evaluation);
  const store::ReadColumn* scores = find_column(rows, "search_score");
  if (!search || scores == nullptr) return;
  judged.scores = scores->values<double>();
  add_searches(judged, *search, evaluation);
}

}  // namespace

bool Evaluation::has_groups() const {
  return std::ranges::any_of(groups, [](const std::string& group) { return !group.empty(); });
}

const PromptMetric* Evaluation::find(const std::string& key) const {
  const auto found = std::ranges::find(metrics, key, &PromptMetric::key);
  return found == metrics.end() ? nullptr : &*found;
}

Estimate estimate_of(const Evaluation& evaluation, const PromptMetric& metric,
                     const std::optional<std::string>& group) {
  if (!group) return estimate_mean(metric.values);
  std::vector<double> values;
  for (std::size_t i = 0; i < metric.values.size(); ++i)
    if (evaluation.groups[i] == *group) values.push_back(metric.values[i]);
  return estimate_mean(values);
}

bool Evaluation::is_of_search(const std::string& key, std::int64_t k) const {
  if (!search) return false;
  const char* accuracy = *search == SearchKind::weighted_vote ? "weighted_" : "best_";
  return key == accuracy + std::to_string(k) || key == "over_random_" + std::to_string(k);
}

Evaluation evaluate_rows(const store::ReadTable& rows, std::optional<SearchKind> search) {
  const auto prompt_index = rows.column("prompt_index").values<std::int64_t>();
  const std::vector<RowRange> ranges = ranges_of(prompt_index);
  Evaluation evaluation;
  for (const RowRange& range : ranges) {
    evaluation.prompts.push_back(prompt_index[range.first]);
    evaluation.samples.push_back(static_cast<std::int64_t>(range.count));
  }
  if (find_column(rows, "score") != nullptr)
    add_mean(rows, ranges, {"score", "score of the data set"}, evaluation);
  add_judged(rows, ranges, search, evaluation);
  for (const store::ReadColumn& column : rows.columns)
    if (const std::string& name = column.spec.name; name.starts_with("reward"))
      add_mean(rows, ranges, {name, name == "reward" ? "mean reward" : "reward " + name.substr(7)},
               evaluation);
  if (find_column(rows, "kl") != nullptr)
    add_mean(rows, ranges, {"kl", "KL per token to the reference", "nats"}, evaluation);
  return evaluation;
}

}  // namespace mgpu::jobs
