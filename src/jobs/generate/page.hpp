#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/estimate.hpp>
#include <mgpu/report/job_page.hpp>
#include <mgpu/report/svg_chart.hpp>

namespace mgpu::jobs {

/// Number of completions of a prompt that the page reads at most. The page shows the most frequent
/// texts among them.
inline constexpr std::int64_t kReadSamples = 64;

/// The data that report.html of job generate shows: lengths, reasons why completions end, speed,
/// rates such as pass@k, metrics of groups, and the first completions.
struct GeneratePlots {
  /// A completion of a prompt, and the number of equal completions.
  struct Sample {
    std::string prompt;
    std::string output;
    std::string reason;
    std::int64_t count = 1;
    double log_prob = 0.0;  // log-probability of the completion, in nats
    std::string answer{};   // the answer in the completion; "" for none
    std::string verdict{};  // "right" or "wrong"; "" if it was not checked
  };

  /// A rate such as pass@k for several k, with the ends of its 95 % intervals.
  struct Rates {
    report::Curve means{};
    std::vector<double> low{};
    std::vector<double> high{};
  };

  /// A metric of one group of prompts.
  struct GroupMean {
    std::string group{};
    std::string metric{};
    Estimate estimate{};
  };

  bool is_scored = false;        // true: prompts have log-probabilities
  bool is_scoring_only = false;  // true: there are no completions
  std::int64_t prompt_tokens = 0;
  std::int64_t scored_prompt_tokens = 0;  // tokens of usable prompts, without their first tokens
  std::int64_t output_tokens = 0;
  double prompt_log_prob = 0.0;  // sum over tokens, nats
  double output_log_prob = 0.0;
  std::map<std::string, std::int64_t> finishes;  // completions by reason, such as "length"
  std::vector<std::int64_t> prompt_lengths;      // number of tokens of each prompt, if above 0
  std::vector<std::int64_t> output_lengths;      // number of tokens of each completion
  std::vector<double> tokens_per_second;  // speed of each group of ranks; 0: the group was idle
  double total_tokens_per_second = 0.0;   // speed of all groups in this attempt
  std::vector<Sample> samples;            // different completions of the first prompts
  std::int64_t num_samples = 1;           // completions of each prompt
  std::string settings;                   // result of sampling_text()
  std::int64_t context = 0;               // result of rows::context_of(), in tokens; 0: no limit
  std::int64_t evaluated_prompts = 0;     // prompts that were evaluated
  Rates pass{};                           // pass@k; empty if nothing checks answers
  Rates majority{};                       // maj@k; empty if `pass` is empty or has no k above 1
  Rates best{};                           // best-of-k; empty without generate.search
  Rates weighted{};                       // weighted vote of k; empty without a search
  std::vector<GroupMean> groups{};        // metrics of each group, sorted by group
};

/// Makes report.html of job generate and its part of summary.json.
class GeneratePage : public report::JobPage {
public:
  explicit GeneratePage(GeneratePlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  GeneratePlots plots_;
};

}  // namespace mgpu::jobs
