#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/report/svg_chart.hpp>

namespace mgpu::jobs {

/// A share with its confidence interval. It is not defined if the denominator is 0.
struct ShownRate {
  double value = 0.0;
  double low = 0.0;
  double high = 1.0;
  bool is_defined = false;
};

/// The data of the page of job classify.
struct ClassifyPlots {
  struct GroupErrors {
    std::string name;
    std::int64_t rows = 0;
    ShownRate accuracy;
    ShownRate false_positive;
    ShownRate false_negative;
    bool is_fair = false;
  };
  struct Mistake {
    std::string text;
    std::string truth;
    std::string given;
    double confidence = 0.0;  // probability of the label, or log-probability of a generated answer
  };
  /// The speed of a run with the same texts, model and strategy.
  struct RunSpeed {
    std::int64_t ranks = 0;
    std::int64_t ranks_of_copy = 1;  // ranks of one copy of the model
    std::int64_t batch = 0;          // texts in one batch of a model
    double samples_per_second = 0.0;
    bool is_this = false;
  };
  /// A number of table `metrics`.
  struct Metric {
    std::string key;
    std::string label;
    double value = 0.0;
    bool is_defined = true;
  };

  std::vector<std::string> labels;
  std::string positive;                 // one of `labels`
  std::vector<std::int64_t> confusion;  // [labels, labels + 1]; the last column counts unknown
  std::map<std::string, std::int64_t> outcomes;  // "ok" -> rows
  std::int64_t rows = 0;                         // number of all rows
  std::int64_t judged = 0;                       // number of rows with a true label
  std::vector<Metric> metrics;                   //
  bool has_probabilities = false;                // labels were scored
  report::Curve roc;                             // x: false positive rate, y: true positive rate
  report::Curve calibration;                     // x: mean confidence, y: accuracy of each bin
  std::vector<std::int64_t> calibration_rows{};  // of each bin
  std::vector<double> calibration_low{};         // interval of the accuracy of each bin
  std::vector<double> calibration_high{};        //
  std::vector<std::int64_t> positive_scores{};   // rows of the positive label, by its probability
  std::vector<std::int64_t> other_scores{};      // other rows, by the same probability
  std::vector<GroupErrors> groups;               // by name
  std::vector<Mistake> mistakes;                 // the wrong rows with the highest confidence
  std::vector<double> samples_per_second;        // speed of each group of ranks
  double total_samples_per_second = 0.0;
  std::vector<RunSpeed> runs;  // this run and earlier runs; empty if nothing was measured
  std::uint32_t run_key = 0;   // equal for runs with comparable speeds
};

/// The page of job classify.
class ClassifyPage : public report::JobPage {
public:
  explicit ClassifyPage(ClassifyPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  ClassifyPlots plots_;
};

}  // namespace mgpu::jobs
