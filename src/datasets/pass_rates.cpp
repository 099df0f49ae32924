#include <map>

#include <mgpu/base/error.hpp>
#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/pass_rates.hpp>

namespace mgpu::datasets {

double pass_at_k(std::int64_t samples, std::int64_t right, std::int64_t k) {
  if (k < 1 || k > samples || right < 0 || right > samples)
    throw Error("pass_at_k: k or the number of right samples is out of range");
  if (samples - right < k) return 1.0;
  double all_wrong = 1.0;
  for (std::int64_t i = samples - right + 1; i <= samples; ++i)
    all_wrong *= 1.0 - static_cast<double>(k) / static_cast<double>(i);
  return 1.0 - all_wrong;
}

std::vector<std::int64_t> sample_counts(std::int64_t samples) {
  std::vector<std::int64_t> counts;
  for (std::int64_t k = 1; k < samples; k *= 2)
    counts.push_back(k);
  counts.push_back(samples);
  return counts;
}

std::vector<std::int32_t> first_equal(
    std::span<const std::optional<std::string>> answers,
    const std::function<bool(const std::string&, const std::string&)>& same) {
  std::vector<std::int32_t> firsts;
  std::map<std::string, std::int32_t> of_text;  // text -> index of the first answer that equals it
  std::vector<std::int32_t> groups;             // index of the first of each set of equal answers
  for (std::size_t i = 0; i < answers.size(); ++i) {
    firsts.push_back(-1);
    if (!answers[i]) continue;
    const auto [place, is_new] = of_text.try_emplace(*answers[i], static_cast<std::int32_t>(i));
    if (is_new) {
      for (const std::int32_t first : groups) {
        if (!same(*answers[static_cast<std::size_t>(first)], *answers[i])) continue;
        place->second = first;
        break;
      }
      if (place->second == static_cast<std::int32_t>(i)) groups.push_back(place->second);
    }
    firsts.back() = place->second;
  }
  return firsts;
}

std::vector<std::int32_t> first_equal(std::span<const std::optional<std::string>> answers,
                                      const Dataset* dataset) {
  return first_equal(answers, [dataset](const std::string& a, const std::string& b) {
    return dataset != nullptr ? dataset->is_same(a, b) : same_answer(a, b);
  });
}

bool is_majority_right(std::span<const std::int32_t> votes,
                       std::span<const std::uint8_t> is_right) {
  std::map<std::int32_t, std::int64_t> counts;
  for (const std::int32_t vote : votes)
    if (vote >= 0) ++counts[vote];
  std::int32_t best = -1;
  std::int64_t most = 0;
  bool is_unique = false;
  for (const auto& [vote, count] : counts) {
    if (count < most) continue;
    is_unique = count > most;
    most = count;
    best = vote;
  }
  return is_unique && is_right[static_cast<std::size_t>(best)] != 0;
}

}  // namespace mgpu::datasets
