#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mgpu::jobs {

/// A ratio of two numbers. If the denominator is 0, the value is 0 and is_defined is false.
struct Ratio {
  double value = 0.0;
  bool is_defined = false;
};
Ratio ratio_of(double part, double whole);

/// Counts rows by their true label and by the label that the model gave. A row may lack the model's
/// label.
class Confusion {
public:
  explicit Confusion(std::size_t labels) : labels_(labels), counts_(labels * (labels + 1), 0) {}

  /// Counts a row with the true label `truth`. `given` is the label that the model gave, or -1. A
  /// row without a true label (`truth` is -1) is not counted.
  void add(std::int32_t truth, std::int32_t given);

  std::size_t labels() const { return labels_; }

  /// Returns the number of rows with the true label `truth` to which the model gave label `given`.
  /// If `given` is labels(), returns the number of rows with this true label that got no label.
  std::int64_t count(std::size_t truth, std::size_t given) const {
    return counts_[truth * (labels_ + 1) + given];
  }
  std::int64_t rows_of(std::size_t truth) const;
  std::int64_t rows() const;
  /// Returns all counts, [labels, labels + 1], by true label and given label. The last column
  /// counts the rows that got no label.
  const std::vector<std::int64_t>& counts() const { return counts_; }

private:
  std::size_t labels_;
  std::vector<std::int64_t> counts_;
};

struct LabelScores {
  Ratio precision, recall, f1;
};

/// Returns precision, recall and F1 of one label against all others. A row of this label that got
/// no label lowers recall and F1, but not precision.
LabelScores scores_of(const Confusion& confusion, std::size_t label);

/// An error rate below this limit counts as fair. ErrorRates::is_fair() compares two error rates
/// with the limit. The page compares the 95 % intervals of these rates with it.
inline constexpr double kFairRate = 0.2;

/// The error rates of one label, here called the positive label, against all other labels.
struct ErrorRates {
  Ratio false_positive;  // share of rows of other labels that got the positive label or no label
  Ratio false_negative;  // share of rows of the positive label that got another label or no label

  /// Returns whether both error rates are below kFairRate. A rate that is not defined counts as 0.
  bool is_fair() const;
};

/// Returns the error rates of label `positive`.
ErrorRates error_rates(const Confusion& confusion, std::size_t positive);

/// Returns the share of rows that got their true label. Rows that got no label count as wrong.
Ratio accuracy_of(const Confusion& confusion);

/// Returns the mean of F1 over all labels. A label whose F1 is not defined counts as 0, and sets
/// is_defined of the result to false.
Ratio macro_f1(const Confusion& confusion);

struct CalibrationBin {
  std::int64_t rows = 0;
  double confidence = 0.0;  // mean confidence of the rows of this bin
  double accuracy = 0.0;
};

struct Calibration {
  std::vector<CalibrationBin> bins;  // bins of equal width from 0 to 1, by confidence
  double error = 0.0;                // expected calibration error
};

/// Sorts rows into `bins` bins of equal width by their confidence, and returns the mean confidence
/// and the accuracy of each bin. Also returns the expected calibration error: the mean over all
/// rows of the absolute difference between mean confidence and accuracy in the row's bin.
///
/// Shapes: confidence [rows] in [0, 1], is_right [rows]
/// Errors: ShapeError when the numbers of rows differ.
Calibration calibrate(std::span<const double> confidence, std::span<const std::uint8_t> is_right,
                      std::size_t bins = 10);

struct RocPoint {
  double false_positive = 0.0;
  double true_positive = 0.0;
};

struct Roc {
  /// The point (0, 0), and one point for each distinct score; the last is (1, 1). Empty if all rows
  /// are of one class.
  std::vector<RocPoint> points;
  Ratio area;
};

/// Returns the ROC curve and the area under it. The area is not defined if all rows are of one
/// class.
///
/// Shapes: score [rows], larger for rows that are more likely positive; is_positive [rows]
/// Errors: ShapeError when the numbers of rows differ.
Roc roc_of(std::span<const double> score, std::span<const std::uint8_t> is_positive);

/// Returns the ends of the 95 % Wilson interval of part / whole; 0 and 1 if `whole` is 0.
std::pair<double, double> wilson_interval(std::int64_t part, std::int64_t whole);

}  // namespace mgpu::jobs
