#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/estimate.hpp>
#include <mgpu/run/compare_runs.hpp>
#include <mgpu/store/results/read_table.hpp>

namespace mgpu::jobs {

/// A metric of two runs on the same prompts.
struct MetricDifference {
  std::string key;        // column of table prompts
  Estimate before{};      // mean of run `before`, over the prompts with a value in both runs
  Estimate after{};       // mean of run `after`, over the same prompts
  Estimate change{};      // mean of the difference after - before, over the same prompts
  std::int64_t more = 0;  // prompts whose value is larger in run `after`
  std::int64_t less = 0;
};

/// The comparison of two runs, prompt by prompt.
struct Comparison {
  std::vector<std::int64_t> prompts{};      // column prompt_index of table prompts
  std::vector<MetricDifference> metrics{};  // the metrics that both runs have
  /// Index in `metrics` of the metric that the page shows first. It is the first of score, pass_1,
  /// reward and kl that exists; 0 if none of these exists.
  std::size_t main = 0;
  std::vector<double> changes{};  // change of the main metric, for each prompt; NaN: no value
};

/// Compares the tables `prompts` of two runs.
/// Errors: Failure E145 (exit 65) unless both runs have the same prompts in the same order, and at
///         least one metric in common.
Comparison compare_prompts(const store::ReadTable& before, const store::ReadTable& after);

/// The function mean_text() formats a mean as "0.2500", and signed_text() formats a difference as
/// "+0.2500". Both return "" for NaN.
std::string mean_text(double value);
std::string signed_text(double value);

/// Formats the metrics as a table for people.
std::string comparison_text(const Comparison& comparison);

/// Compares two runs of job generate, for --compare. Writes the numbers to request.numbers and a
/// page to request.page. Returns comparison_text().
/// Errors: those of compare_prompts(), store::require_sound() and store::read_table(); Failure E145
///         (exit 65) for a run without an evaluation; E601 (exit 73) or E602 (exit 74) if a file
///         cannot be written.
std::string compare_completions(const run::CompareRequest& request);

}  // namespace mgpu::jobs
