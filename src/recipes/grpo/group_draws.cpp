#include "group_draws.hpp"

#include <algorithm>
#include <utility>

#include "advantages.hpp"

namespace mgpu::recipes {

void GroupDraws::begin(std::uint64_t next) {
  next_ = next;
  calls_ = 0;
  std::ranges::fill(refills_, 0);
  for (std::uint64_t& number : numbers_)
    number = next_++;
}

std::vector<std::size_t> GroupDraws::refill(std::span<const double> rewards) {
  std::vector<std::size_t> groups;
  if (calls_ == max_refills_) return groups;
  ++calls_;
  const std::size_t members = rewards.size() / numbers_.size();
  for (std::size_t group = 0; group < numbers_.size(); ++group) {
    if (!stats_of(rewards.subspan(group * members, members)).are_equal) continue;
    groups.push_back(group);
    numbers_[group] = next_++;
    ++refills_[group];
  }
  return groups;
}

void GroupDraws::restore(std::vector<std::uint64_t> numbers, std::uint64_t next) {
  if (!numbers.empty()) numbers_ = std::move(numbers);
  next_ = next;
}

}  // namespace mgpu::recipes
