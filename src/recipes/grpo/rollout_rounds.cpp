// Implements the functions of RolloutItems that replace groups whose rewards are all equal.
#include <span>

#include "rollout_items.hpp"

namespace mgpu::recipes {
namespace {

/// Returns the part of `places` (batch indices of completions) that rank `rank` samples. The parts
/// of all ranks have about the same size.
std::vector<std::size_t> share_of_rank(const std::vector<std::size_t>& places, int rank,
                                       std::size_t ranks) {
  const auto begin_of = [&](std::size_t r) {
    return places.begin() + static_cast<std::ptrdiff_t>(places.size() * r / ranks);
  };
  const auto here = static_cast<std::size_t>(rank);
  return {begin_of(here), begin_of(here + 1)};
}

}  // namespace

/// Returns the message of this rank about the completions that it sampled in the round. In the
/// first round, before any group is replaced, each rank samples the completions of the items that
/// it owns. So the other ranks get only the rewards of these completions.
std::string RolloutItems::result() const {
  std::string bytes;
  for (const std::size_t place : made_)
    if (is_first_round_)
      append_reward(place, rows_[place], bytes);
    else
      append_rollout(place, rows_[place], bytes);
  return bytes;
}

bool RolloutItems::read(const std::vector<std::string>& results) {
  for (const std::string& bytes : results)
    for (const SentRollout& sent : rollouts_from(bytes))
      take(sent);
  if (is_first_round_) first_rewards_ = rewards_;
  const std::vector<std::size_t> groups = draws_.refill(rewards_);
  if (groups.empty()) {
    finish();
    return false;
  }
  const auto members = static_cast<std::size_t>(settings_.group_size);
  std::vector<std::size_t> places(groups.size() * members);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = groups[i / members] * members + i % members;
  made_ = share_of_rank(places, tools_.rank, results.size());
  return true;
}

/// Stores the reward of a completion. After the first round, also stores the completion if it
/// belongs to this rank.
void RolloutItems::take(const SentRollout& sent) {
  rewards_[sent.place] = sent.reward;
  if (is_first_round_) return;
  Rollout& row = rows_[sent.place];
  row = {};
  if (sent.place < first_ || sent.place >= first_ + count_) return;
  const std::span<const std::int64_t> prompt = prompt_of(example_of(sent.place));
  row.prompt = std::ssize(prompt);
  row.ids.assign(prompt.begin(), prompt.end());
  row.ids.insert(row.ids.end(), sent.ids.begin(), sent.ids.end());
  row.sampled = sent.sampled;
  row.reward = sent.reward;
  row.is_truncated = sent.is_truncated;
}

void RolloutItems::make() {
  const auto sampling = tools_.clock.enter("sampling");
  is_first_round_ = false;
  sample();
  judge();
}

}  // namespace mgpu::recipes
