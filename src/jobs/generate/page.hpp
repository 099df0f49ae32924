#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

namespace mgpu::jobs {

/// The data of the page of job generate: lengths, reasons why completions end, speed, first
/// samples.
struct GeneratePlots {
  struct Sample {
    std::string prompt;
    std::string output;
    std::string reason;
  };

  bool is_scored = false;        // prompts have log-probabilities
  bool is_scoring_only = false;  // there are no completions
  std::int64_t prompt_tokens = 0;
  std::int64_t scored_prompt_tokens = 0;  // all except the first of each prompt
  std::int64_t output_tokens = 0;
  double prompt_log_prob = 0.0;  // sum over tokens, nats
  double output_log_prob = 0.0;
  std::map<std::string, std::int64_t> finishes;  // "length" -> samples
  std::vector<std::int64_t> prompt_lengths;      // of each prompt
  std::vector<std::int64_t> output_lengths;      // of each sample
  std::vector<double> tokens_per_second;         // speed of each group of ranks; 0: it was idle
  double total_tokens_per_second = 0.0;          // speed of all groups in this attempt
  std::vector<Sample> samples;                   // the first samples
};

/// The page of job generate.
class GeneratePage : public report::JobPage {
public:
  explicit GeneratePage(GeneratePlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  GeneratePlots plots_;
};

}  // namespace mgpu::jobs
