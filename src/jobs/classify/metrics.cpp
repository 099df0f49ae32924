#include "metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <mgpu/base/error.hpp>

namespace mgpu::jobs {
namespace {

Ratio ratio_of(std::int64_t part, std::int64_t whole) {
  return jobs::ratio_of(static_cast<double>(part), static_cast<double>(whole));
}

std::int64_t given_rows(const Confusion& confusion, std::size_t label) {
  std::int64_t rows = 0;
  for (std::size_t truth = 0; truth < confusion.labels(); ++truth)
    rows += confusion.count(truth, label);
  return rows;
}

}  // namespace

Ratio ratio_of(double part, double whole) {
  if (whole == 0.0) return {};
  return {part / whole, true};
}

void Confusion::add(std::int32_t truth, std::int32_t given) {
  if (truth < 0) return;
  const auto row = static_cast<std::size_t>(truth);
  const std::size_t column = given < 0 ? labels_ : static_cast<std::size_t>(given);
  if (row >= labels_ || column > labels_) throw Error("Confusion: no such label");
  ++counts_[row * (labels_ + 1) + column];
}

std::int64_t Confusion::rows_of(std::size_t truth) const {
  const auto row = counts_.begin() + static_cast<std::ptrdiff_t>(truth * (labels_ + 1));
  return std::accumulate(row, row + static_cast<std::ptrdiff_t>(labels_ + 1), std::int64_t{0});
}

std::int64_t Confusion::rows() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

LabelScores scores_of(const Confusion& confusion, std::size_t label) {
  const std::int64_t right = confusion.count(label, label);
  const std::int64_t given = given_rows(confusion, label);
  const std::int64_t there = confusion.rows_of(label);
  return {ratio_of(right, given), ratio_of(right, there), ratio_of(2 * right, given + there)};
}

bool ErrorRates::is_fair() const {
  return false_positive.value < kFairRate && false_negative.value < kFairRate;
}

ErrorRates error_rates(const Confusion& confusion, std::size_t positive) {
  std::int64_t negatives = 0;
  std::int64_t wrong = 0;
  for (std::size_t truth = 0; truth < confusion.labels(); ++truth) {
    if (truth == positive) continue;
    negatives += confusion.rows_of(truth);
    wrong += confusion.count(truth, positive) + confusion.count(truth, confusion.labels());
  }
  const std::int64_t positives = confusion.rows_of(positive);
  return {ratio_of(wrong, negatives),
          ratio_of(positives - confusion.count(positive, positive), positives)};
}

Ratio accuracy_of(const Confusion& confusion) {
  std::int64_t right = 0;
  for (std::size_t label = 0; label < confusion.labels(); ++label)
    right += confusion.count(label, label);
  return ratio_of(right, confusion.rows());
}

Ratio macro_f1(const Confusion& confusion) {
  Ratio mean{0.0, true};
  for (std::size_t label = 0; label < confusion.labels(); ++label) {
    const Ratio f1 = scores_of(confusion, label).f1;
    mean.value += f1.value / static_cast<double>(confusion.labels());
    mean.is_defined = mean.is_defined && f1.is_defined;
  }
  return mean;
}

Calibration calibrate(std::span<const double> confidence, std::span<const std::uint8_t> is_right,
                      std::size_t bins) {
  if (confidence.size() != is_right.size()) throw ShapeError("calibrate: other numbers of rows");
  Calibration result;
  result.bins.resize(bins);
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    const auto place = static_cast<std::size_t>(confidence[i] * static_cast<double>(bins));
    CalibrationBin& bin = result.bins[std::min(place, bins - 1)];
    ++bin.rows;
    bin.confidence += confidence[i];
    bin.accuracy += is_right[i];
  }
  for (CalibrationBin& bin : result.bins) {
    if (bin.rows == 0) continue;
    const auto rows = static_cast<double>(bin.rows);
    bin.confidence /= rows;
    bin.accuracy /= rows;
    result.error +=
        rows / static_cast<double>(confidence.size()) * std::abs(bin.confidence - bin.accuracy);
  }
  return result;
}

Roc roc_of(std::span<const double> score, std::span<const std::uint8_t> is_positive) {
  if (score.size() != is_positive.size()) throw ShapeError("roc_of: other numbers of rows");
  const auto positives = static_cast<double>(std::ranges::count(is_positive, std::uint8_t{1}));
  const double negatives = static_cast<double>(score.size()) - positives;
  if (positives == 0.0 || negatives == 0.0) return {};
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  Roc roc{{{0.0, 0.0}}, {0.0, true}};
  RocPoint now;
  for (std::size_t i = 0; i < order.size(); ++i) {
    (is_positive[order[i]] != 0 ? now.true_positive : now.false_positive) += 1.0;
    const bool is_tied = i + 1 < order.size() && score[order[i]] == score[order[i + 1]];
    if (is_tied) continue;
    const RocPoint point{now.false_positive / negatives, now.true_positive / positives};
    const RocPoint& last = roc.points.back();
    roc.area.value += (point.false_positive - last.false_positive) *
                      (point.true_positive + last.true_positive) / 2.0;
    roc.points.push_back(point);
  }
  return roc;
}

std::pair<double, double> wilson_interval(std::int64_t part, std::int64_t whole) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  if (whole == 0) return {0.0, 1.0};
  const auto n = static_cast<double>(whole);
  const double share = static_cast<double>(part) / n;
  const double middle = share + kZ * kZ / (2.0 * n);
  const double half = kZ * std::sqrt(share * (1.0 - share) / n + kZ * kZ / (4.0 * n * n));
  const double scale = 1.0 + kZ * kZ / n;
  return {std::max(0.0, (middle - half) / scale), std::min(1.0, (middle + half) / scale)};
}

}  // namespace mgpu::jobs
