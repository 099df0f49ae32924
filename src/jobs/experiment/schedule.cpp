#include "schedule.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

#include <mgpu/base/error.hpp>

namespace mgpu::jobs {
namespace {

// If StageNeed::wish of a stage is 0, the limit of its ranks is at least 1 / kMostAtOnce of all
// ranks. So only about kMostAtOnce such stages run at the same time.
constexpr int kMostAtOnce = 8;

/// Returns for each stage the number of stages on the longest chain that begins with this stage. In
/// a chain, each stage waits for the stage before it.
std::vector<int> chain_lengths(const std::vector<StageNeed>& stages) {
  std::vector<int> lengths(stages.size(), 1);
  // A chain has at most stages.size() stages, so stages.size() - 1 passes are enough.
  for (std::size_t pass = 1; pass < stages.size(); ++pass) {
    bool has_changed = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      for (const std::size_t before : stages[s].after) {
        if (lengths[before] > lengths[s]) continue;
        lengths[before] = lengths[s] + 1;
        has_changed = true;
      }
    }
    if (!has_changed) break;
  }
  return lengths;
}

}  // namespace

const char* name_of(StageState state) {
  constexpr std::array kNames = {"waiting", "running",  "done",   "reused",
                                 "failed",  "left out", "stopped"};
  return kNames.at(static_cast<std::size_t>(state));
}

Schedule::Schedule(std::vector<StageNeed> stages, int ranks, Urgency urgency)
    : stages_(std::move(stages)),
      states_(stages_.size(), StageState::waiting),
      by_urgency_(stages_.size()),
      ranks_(ranks) {
  std::iota(by_urgency_.begin(), by_urgency_.end(), std::size_t{0});
  const std::vector<int> lengths = chain_lengths(stages_);
  std::ranges::stable_sort(by_urgency_, [&](std::size_t a, std::size_t b) {
    if (stages_[a].preference != stages_[b].preference)
      return stages_[a].preference > stages_[b].preference;
    if (urgency == Urgency::chain) return lengths[a] > lengths[b];
    return std::pair(-stages_[a].round, lengths[a]) < std::pair(-stages_[b].round, lengths[b]);
  });
}

bool Schedule::has_all_before(std::size_t stage) const {
  return std::ranges::all_of(stages_[stage].after, [&](std::size_t before) {
    return states_[before] == StageState::done || states_[before] == StageState::reused;
  });
}

std::vector<std::size_t> Schedule::ready() const {
  std::vector<std::size_t> found;
  if (is_stopped_) return found;
  std::ranges::copy_if(by_urgency_, std::back_inserter(found), [&](std::size_t stage) {
    return states_[stage] == StageState::waiting && has_all_before(stage);
  });
  return found;
}

void Schedule::reuse(std::size_t stage) {
  if (states_.at(stage) != StageState::waiting) throw Error("only a waiting stage can be reused");
  states_[stage] = StageState::reused;
}

void Schedule::fail(std::size_t stage) {
  if (states_.at(stage) != StageState::waiting) throw Error("only a waiting stage can fail so");
  states_[stage] = StageState::failed;
  leave_out_after(stage);
}

/// Returns the largest number of ranks that the stage can get now; 0 if there are too few free
/// ranks. `num_ready` is the number of ready stages.
int Schedule::ranks_for(const StageNeed& need, std::size_t num_ready) const {
  const int free = static_cast<int>(free_.size());
  const int share = std::max(free / static_cast<int>(num_ready), ranks_ / kMostAtOnce);
  const int limit = std::max({need.wish == 0 ? share : need.wish, need.sizes.front(), 1});
  const auto above = std::ranges::upper_bound(need.sizes, std::min(limit, free));
  return above == need.sizes.begin() ? 0 : *std::prev(above);
}

void Schedule::limit_memory(NodeMemory memory) {
  memory_ = std::move(memory);
  used_.assign(memory_.bytes.size(), 0);
}

std::uint64_t Schedule::rank_bytes(std::size_t stage) const {
  return memory_.node_of.empty() ? 0 : memory_.of_rank(stage);
}

/// Makes the memory that a running stage has reserved available to other stages.
void Schedule::unload(std::size_t stage) {
  for (const auto& [node, bytes] : loads_[stage])
    used_[static_cast<std::size_t>(node)] -= bytes;
  loads_.erase(stage);
}

/// Returns whether a stage that needs `bytes` of memory on a node fits there, together with the
/// stages that already run on the node. Every stage fits if the memory of the node is unknown.
bool Schedule::fits(int node, std::uint64_t bytes) const {
  const std::uint64_t used = used_.at(static_cast<std::size_t>(node));
  const std::uint64_t most = memory_.bytes.at(static_cast<std::size_t>(node));
  return most == 0 || used + bytes <= most;
}

/// Returns whether no stage whose memory is known runs on the node.
bool Schedule::is_unused(int node) const {
  return used_.at(static_cast<std::size_t>(node)) == 0;
}

/// Returns the first `count` free ranks on whose nodes the stage fits, or all such ranks if there
/// are fewer. Adds to `loads`, for each node, the bytes that the stage needs there. If `may_exceed`
/// is true, the stage also fits on each node that no other stage uses, even if the memory of the
/// node is too small.
std::vector<int> Schedule::members_of(std::size_t stage, int count, bool may_exceed,
                                      Loads& loads) const {
  const bool is_limited = !memory_.node_of.empty();
  const std::uint64_t bytes = rank_bytes(stage);
  std::vector<int> members;
  for (const int rank : free_) {
    if (std::cmp_equal(members.size(), count)) break;
    if (is_limited) {
      const int node = memory_.node_of.at(static_cast<std::size_t>(rank));
      if (!fits(node, loads[node] + bytes) && !(may_exceed && is_unused(node))) continue;
      loads[node] += bytes;
    }
    members.push_back(rank);
  }
  return members;
}

/// Assigns `count` free ranks to the stage, as members_of() selects them. Returns nullopt if
/// members_of() finds fewer ranks.
std::optional<Assignment> Schedule::assign(std::size_t stage, int count, bool may_exceed) {
  Loads loads;
  std::vector<int> members = members_of(stage, count, may_exceed, loads);
  if (std::cmp_less(members.size(), count)) return std::nullopt;
  for (const int member : members)
    free_.erase(member);
  for (const auto& [node, bytes] : loads)
    used_[static_cast<std::size_t>(node)] += bytes;
  loads_[stage] = std::move(loads);
  states_[stage] = StageState::running;
  return Assignment{stage, std::move(members)};
}

/// Assigns free ranks to the stage. The number of ranks is the largest element of StageNeed::sizes
/// that is at most `most` and for which there is enough memory. If memory suffices for no such
/// element, tries the smallest one again with `may_exceed` (see members_of()). Returns nullopt if
/// the stage has to wait.
std::optional<Assignment> Schedule::assign_most(std::size_t stage, int most) {
  const std::vector<int>& sizes = stages_[stage].sizes;
  const auto end = std::ranges::upper_bound(sizes, most);
  for (auto size = end; size != sizes.begin();)
    if (auto assignment = assign(stage, *--size, /*may_exceed=*/false)) return assignment;
  if (end == sizes.begin()) return std::nullopt;
  if (auto assignment = assign(stage, sizes.front(), /*may_exceed=*/true)) return assignment;
  waited_for_memory_.insert(stage);
  return std::nullopt;
}

std::optional<Assignment> Schedule::next() {
  const std::vector<std::size_t> ready = this->ready();
  for (const std::size_t stage : ready)
    if (auto assignment = assign_most(stage, ranks_for(stages_[stage], ready.size())))
      return assignment;
  return std::nullopt;
}

void Schedule::leave_out_after(std::size_t stage) {
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (states_[s] != StageState::waiting) continue;
    if (std::ranges::find(stages_[s].after, stage) == stages_[s].after.end()) continue;
    states_[s] = StageState::left_out;
    leave_out_after(s);
  }
}

void Schedule::end(std::size_t stage, StageState state) {
  if (states_.at(stage) != StageState::running) throw Error("only a running stage can end");
  unload(stage);
  states_[stage] = state;
  if (state == StageState::failed) leave_out_after(stage);
  if (state == StageState::stopped) stop();
}

void Schedule::retry(std::size_t stage) {
  if (states_.at(stage) != StageState::running) throw Error("only a running stage can be repeated");
  unload(stage);
  states_[stage] = StageState::waiting;
}

bool Schedule::is_over() const {
  const bool is_busy = std::ranges::find(states_, StageState::running) != states_.end();
  return !is_busy && ready().empty();
}

}  // namespace mgpu::jobs
