#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mgpu::jobs {

/// A share. If the denominator is 0, the value is 0 and is_defined is false.
struct Ratio {
  double value = 0.0;
  bool is_defined = false;
};
Ratio ratio_of(double part, double whole);

/// Counts rows by true label and by given label, which may be missing.
class Confusion {
public:
  explicit Confusion(std::size_t labels) : labels_(labels), counts_(labels * (labels + 1), 0) {}

  /// Counts one row. `given` is -1 for a row without an answer. Rows without a true label (-1) are
  /// not counted.
  void add(std::int32_t truth, std::int32_t given);

  std::size_t labels() const { return labels_; }

  /// Returns the number of rows. `given` is labels() for rows without an answer.
  std::int64_t count(std::size_t truth, std::size_t given) const {
    return counts_[truth * (labels_ + 1) + given];
  }
  std::int64_t rows_of(std::size_t truth) const;
  std::int64_t rows() const;
  const std::vector<std::int64_t>& counts() const { return counts_; }  // [labels, labels + 1]

private:
  std::size_t labels_;
  std::vector<std::int64_t> counts_;
};

struct LabelScores {
  Ratio precision, recall, f1;
};

/// Returns the scores of one label against all others. A row without an answer is wrong: it lowers
/// recall, accuracy and F1, and raises both error rates. Precision covers only rows with an answer.
LabelScores scores_of(const Confusion& confusion, std::size_t label);

struct ErrorRates {
  Ratio false_positive;  // share of the rows of other labels that were given this label or none
  Ratio false_negative;  // share of the rows of the label that were not given it

  /// Returns whether both error rates are below 0.2.
  bool is_fair() const;
};
ErrorRates error_rates(const Confusion& confusion, std::size_t positive);

Ratio accuracy_of(const Confusion& confusion);

/// Returns the mean of F1 over all labels; labels without a value count as 0.
Ratio macro_f1(const Confusion& confusion);

struct CalibrationBin {
  std::int64_t rows = 0;
  double confidence = 0.0;  // mean of the bin
  double accuracy = 0.0;
};

struct Calibration {
  std::vector<CalibrationBin> bins;  // bins that divide [0, 1] equally
  double error = 0.0;                // expected calibration error
};

/// Compares the mean confidence with the accuracy in bins of equal width. Shapes: confidence [N] in
/// [0, 1], is_right [N]
Calibration calibrate(std::span<const double> confidence, std::span<const std::uint8_t> is_right,
                      std::size_t bins = 10);

struct RocPoint {
  double false_positive = 0.0;
  double true_positive = 0.0;
};

struct Roc {
  std::vector<RocPoint> points;  // (0, 0) to (1, 1), one for each score; empty: only one class
  Ratio area;
};

/// Returns the ROC curve. Shapes: score [N], larger for the positive class; is_positive [N]
Roc roc_of(std::span<const double> score, std::span<const std::uint8_t> is_positive);

/// Returns the 95 % Wilson interval of part / whole.
std::pair<double, double> wilson_interval(std::int64_t part, std::int64_t whole);

}  // namespace mgpu::jobs
