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

/// A ratio with its 95 % confidence interval. If the denominator is 0, is_defined is false.
struct ShownRate {
  double value = 0.0;
  double low = 0.0;
  double high = 1.0;
  bool is_defined = false;
};

/// The data that report.html of job classify shows.
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
    /// Probability of the given label if labels are scored. If answers are generated,
    /// log-probability of the answer.
    double confidence = 0.0;
  };
  /// The speed of this run or of a comparable run. Comparable runs have the same texts, model,
  /// strategy, host of rank 0 and kind of device, and the same values of all keys that change
  /// results.
  struct RunSpeed {
    std::int64_t ranks = 0;
    std::int64_t ranks_of_copy = 1;  // ranks of one copy of the model
    std::int64_t batch = 0;          // texts in one batch of a model
    double samples_per_second = 0.0;
    bool is_this = false;
  };
  /// A row of table `metrics` of results.h5.
  struct Metric {
    std::string key;
    std::string label;
    double value = 0.0;
    bool is_defined = true;
  };

  /// The quality of the predictions for one label against all others.
  struct LabelResult {
    std::string label;
    std::int64_t support = 0;  // number of rows with this true label
    ShownRate precision;
    ShownRate recall;
    double f1 = 0.0;
    bool has_f1 = false;  // false: no row has the label, and no row got it
    /// ROC curve of this label against all others. It is empty in each of these cases:
    /// - Labels have no probabilities.
    /// - The member has_positive is true.
    /// - All rows or no rows have this label.
    report::Curve roc{};
    double roc_auc = 0.0;
  };

  std::vector<std::string> labels;
  std::vector<LabelResult> by_label;  // in the order of `labels`
  /// False if there are more than two labels and classify.positive is null. In this case the
  /// results that the run prints have only metrics that cover all labels, and the page has an ROC
  /// curve of each label.
  bool has_positive = true;
  std::string positive;                          // one of `labels`
  std::vector<std::int64_t> confusion;           // Confusion::counts()
  std::map<std::string, std::int64_t> outcomes;  // number of rows with each outcome, such as "ok"
  std::int64_t rows = 0;                         // number of all rows
  std::int64_t judged = 0;                       // number of rows with a true label
  std::vector<std::int32_t> prompt_tokens{};     // number of tokens of the prompt of each row
  std::vector<Metric> metrics;                   // accuracy, F1 and so on
  bool has_probabilities = false;  // true: labels were scored, so each has a probability
  report::Curve roc;               // x: false positive rate, y: true positive rate
  report::Curve calibration;       // x: mean confidence, y: accuracy of each bin with rows
  std::vector<std::int64_t> calibration_rows{};  // number of rows of each bin of `calibration`
  std::vector<double> calibration_low{};   // lower end of the confidence interval of each accuracy
  std::vector<double> calibration_high{};  // upper end of the confidence interval of each accuracy
  /// Histogram of the probability of the positive label. It counts only rows whose true label is
  /// the positive label.
  std::vector<std::int64_t> positive_scores{};
  std::vector<std::int64_t> other_scores{};  // rows with another true label, in the same bins
  std::vector<GroupErrors> groups;           // sorted by name
  std::vector<Mistake> mistakes;             // the wrong rows with the highest confidence
  std::vector<double> samples_per_second;    // speed of each group of ranks
  double total_samples_per_second = 0.0;
  std::vector<RunSpeed> runs;  // this run and other runs; empty if no speed is known
  std::uint32_t run_key = 0;   // SpeedKind::key of this run
};

/// Makes report.html of job classify and its part of summary.json.
class ClassifyPage : public report::JobPage {
public:
  explicit ClassifyPage(ClassifyPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  ClassifyPlots plots_;
};

}  // namespace mgpu::jobs
