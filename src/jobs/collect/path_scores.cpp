#include "path_scores.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace mgpu::jobs {
namespace {

constexpr double kConsistent = 0.9;
constexpr double kVerification = 0.5;  // verification of a path that has no answer yet

double dot(const double* a, const double* b, std::int64_t width) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i)
    sum += a[i] * b[i];
  return sum;
}

double cosine(const double* a, const double* b, std::int64_t width) {
  const double norms = std::sqrt(dot(a, a, width) * dot(b, b, width));
  return norms > 0.0 ? dot(a, b, width) / norms : 0.0;
}

double mean_value(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_from_mean(const std::vector<double>& values) {
  const double mean = mean_value(values);
  double squares = 0.0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The states of a path in float64, [latent steps, hidden size], and their mean, [hidden size].
struct States {
  States(const std::vector<float>& values, std::int64_t columns)
      : all(values.begin(), values.end()),
        mean(static_cast<std::size_t>(columns), 0.0),
        width(columns),
        count(std::ssize(values) / columns) {
    for (std::int64_t m = 0; m < count; ++m)
      for (std::int64_t i = 0; i < width; ++i)
        mean[static_cast<std::size_t>(i)] += row(m)[i] / static_cast<double>(count);
  }

  const double* row(std::int64_t m) const { return all.data() + m * width; }

  std::vector<double> all;
  std::vector<double> mean;
  std::int64_t width;
  std::int64_t count;
};

/// Returns the part of a path's base that does not depend on other paths: 0.3 smoothness + 0.2
/// verification + 0.1 quality. score_paths() defines these terms.
double own_share(const States& states) {
  std::vector<double> norms;
  std::vector<double> cosines;
  for (std::int64_t m = 0; m < states.count; ++m) {
    norms.push_back(std::sqrt(dot(states.row(m), states.row(m), states.width)));
    if (m > 0) cosines.push_back(cosine(states.row(m - 1), states.row(m), states.width));
  }
  if (cosines.empty()) cosines.push_back(1.0);
  const double norm = mean_value(norms);
  const double variation = norm > 0.0 ? deviation_from_mean(norms) / norm : 0.0;
  const double divisor = mean_value(cosines) + 0.1;
  const double perplexity =
      divisor > 0.0 ? std::clamp(10.0 * (1.0 + variation) / divisor, 1.0, 100.0) : 100.0;
  const double quality =
      (1.0 / (1.0 + variation) + 1.0 / (1.0 + deviation_from_mean(cosines))) / 2.0;
  return 0.3 * std::exp(-perplexity / 15.0) + 0.2 * kVerification + 0.1 * quality;
}

}  // namespace

std::vector<PathScore> score_paths(std::span<const std::vector<float>* const> states,
                                   std::int64_t width) {
  std::vector<States> paths;
  for (const std::vector<float>* values : states)
    paths.emplace_back(*values, width);
  std::vector<PathScore> scores;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    double sum = 0.0;
    for (std::size_t other = 0; other < paths.size(); ++other)
      if (other != p)
        sum += (cosine(paths[p].mean.data(), paths[other].mean.data(), width) + 1.0) / 2.0;
    const double consistency = paths.size() > 1 ? sum / static_cast<double>(paths.size() - 1) : 1.0;
    const double base = 0.4 * consistency + own_share(paths[p]);
    scores.push_back({0.6 * base + 0.4 * consistency, consistency});
  }
  return scores;
}

std::vector<std::size_t> merge_targets(std::span<const std::vector<float>* const> states,
                                       std::int64_t width, std::span<const PathScore> scores,
                                       double similarity) {
  std::vector<States> paths;
  for (const std::vector<float>* values : states)
    paths.emplace_back(*values, width);
  std::vector<std::size_t> targets(paths.size());
  std::vector<std::size_t> kept;
  for (const std::size_t path : by_score(scores)) {
    const auto target = std::ranges::find_if(kept, [&](std::size_t other) {
      return cosine(paths[path].mean.data(), paths[other].mean.data(), width) >= similarity;
    });
    targets[path] = target == kept.end() ? path : *target;
    if (target == kept.end()) kept.push_back(path);
  }
  return targets;
}

std::vector<std::int64_t> share_children(std::int64_t children,
                                         const std::vector<bool>& is_divided) {
  std::vector<std::int64_t> shares(is_divided.size(), 1);
  const std::int64_t divided = std::ranges::count(is_divided, true);
  if (divided == 0) return shares;
  const std::int64_t rest = std::max(children - (std::ssize(is_divided) - divided), divided);
  std::int64_t place = 0;
  for (std::size_t path = 0; path < is_divided.size(); ++path) {
    if (!is_divided[path]) continue;
    shares[path] = rest / divided + (place < rest % divided ? 1 : 0);
    ++place;
  }
  return shares;
}

std::vector<std::size_t> by_score(std::span<const PathScore> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return scores[a].score > scores[b].score; });
  return order;
}

std::vector<std::size_t> prune(std::span<const PathScore> scores, double progress) {
  std::vector<std::size_t> kept = by_score(scores);
  std::ranges::stable_partition(
      kept, [&](std::size_t path) { return scores[path].consistency >= kConsistent; });
  const double share = 0.3 + 0.5 * progress;
  const auto count =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(scores.size()) - 1e-9));
  kept.resize(std::min(scores.size(), std::max<std::size_t>(2, count)));
  std::ranges::stable_sort(
      kept, [&](std::size_t a, std::size_t b) { return scores[a].score > scores[b].score; });
  return kept;
}

std::int32_t vote(std::span<const std::int32_t> firsts, std::span<const double> weights) {
  std::map<std::int32_t, double> sums;  // in the order of the first answers
  for (std::size_t i = 0; i < firsts.size(); ++i)
    if (firsts[i] >= 0) sums[firsts[i]] += weights[i];
  const auto best = std::ranges::max_element(sums, {}, [](const auto& sum) { return sum.second; });
  return best == sums.end() ? -1 : best->first;
}

}  // namespace mgpu::jobs
