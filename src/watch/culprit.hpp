#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/call_log.hpp>

namespace mgpu::watch {

/// A collective that a rank has entered.
struct PastCall {
  std::uint64_t group = 0;   // id of the group
  std::uint64_t number = 0;  // index among the collectives of the group, from 1
  cluster::CallFields fields{};
};

/// The calls of a rank in one group, as the rank's CallLog records them. `fields` and `peer`
/// describe the current or most recent call.
struct GroupState {
  std::uint64_t group = 0;   // id of the group
  std::uint64_t number = 0;  // number of the group's collectives that the rank has entered
  bool is_inside = false;    // true: the rank is in a call of this group now
  int peer = cluster::LoggedGroup::kNoPeer;  // peer of a call between two ranks
  cluster::CallFields fields{};
};

/// The state of one rank, as a watchdog sees it.
struct RankState {
  bool is_here = true;  // false: the rank has ended normally, or has not started yet
  bool is_stopped = false;
  bool is_silent = false;  // true: silent_s exceeds the rank's time limit, see Watcher::scene()
  double silent_s = 0.0;
  std::vector<GroupState> groups{};
  std::vector<PastCall> past{};

  const GroupState* call() const;  // the call that the rank is in, or nullptr
};

/// How a culprit was found. The values are in order of certainty, the most certain first.
enum class Sign {
  stopped,   // the rank's process is stopped
  outside,   // the rank hangs outside of communication calls
  mismatch,  // the rank's call differs from the call of most other ranks
  awaited,   // this is the hung rank for which the most hung ranks wait
  left,      // other ranks wait for this rank, but it is not here (RankState::is_here)
  stuck      // all ranks have entered the call, but the call does not complete
};

struct Culprit {
  int rank = 0;
  Sign sign = Sign::stuck;
  std::string difference{};  // for a mismatch: "rank 2 calls barrier, the others call ..."
};

/// Returns the rank that blocks the others; nullopt if no rank hangs. A rank without progress does
/// not hang while it waits for a rank that makes progress.
std::optional<Culprit> find_culprit(std::span<const RankState> ranks);

}  // namespace mgpu::watch
