#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mgpu::jobs {

/// A share. With the denominator 0 its value is 0 and it is not defined.
struct Ratio {
  double value = 0.0;
  bool is_defined = false;
};
Ratio ratio_of(double part, double whole);

/// Counts the rows of each true label by the label they were given, or no label.
class Confusion {
public:
  explicit Confusion(std::size_t labels) : labels_(labels), counts_(labels * (labels + 1), 0) {}

  /// `given` -1: no label. Rows without a true label are not counted.
  void add(std::int32_t truth, std::int32_t given);

  std::size_t labels() const { return labels_; }

  /// `given` labels(): no label.
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

/// Scores of one label against all others. A row without an answer is wrong: it lowers recall,
/// accuracy and F1, and raises both error rates. Precision covers only rows with an answer.
LabelScores scores_of(const Confusion& confusion, std::size_t label);

struct ErrorRates {
  Ratio false_positive;  // rows of other labels that were given this label or none
  Ratio false_negative;  // rows of the label that were not given it

  /// Both error rates are below 0.2.
  bool is_fair() const;
};
ErrorRates error_rates(const Confusion& confusion, std::size_t positive);

Ratio accuracy_of(const Confusion& confusion);

/// The mean over all labels; labels without a value count as 0.
Ratio macro_f1(const Confusion& confusion);

struct CalibrationBin {
  std::int64_t rows = 0;
  double confidence = 0.0;  // mean
  double accuracy = 0.0;
};

struct Calibration {
  std::vector<CalibrationBin> bins;  // equal widths of [0, 1]
  double error = 0.0;                // expected calibration error
};

/// Shapes: confidence [N] in [0, 1], is_right [N]
Calibration calibrate(std::span<const double> confidence, std::span<const std::uint8_t> is_right,
                      std::size_t bins = 10);

struct RocPoint {
  double false_positive = 0.0;
  double true_positive = 0.0;
};

struct Roc {
  std::vector<RocPoint> points;  // from (0, 0) to (1, 1), one for each score; empty: one class only
  Ratio area;
};

/// Shapes: score [N], larger for the positive class; is_positive [N]
Roc roc_of(std::span<const double> score, std::span<const std::uint8_t> is_positive);

/// The 95 % Wilson interval of a share.
std::pair<double, double> wilson_interval(std::int64_t part, std::int64_t whole);

}  // namespace mgpu::jobs
