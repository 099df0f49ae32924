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
  std::uint64_t group = 0;
  std::uint64_t number = 0;  // of the group's collectives
  cluster::CallWords words{};
};

/// A group that a rank is in, and the call that it is inside of.
struct GroupSight {
  std::uint64_t group = 0;
  std::uint64_t number = 0;  // of the collectives that it has entered
  bool is_inside = false;
  int peer = cluster::LoggedGroup::kNoPeer;  // of a call between two ranks
  cluster::CallWords words{};
};

/// One rank as a watcher sees it.
struct RankState {
  bool is_here = true;  // false: it has left, or never came
  bool is_stopped = false;
  bool is_silent = false;  // without a sign of progress for longer than its limit
  double silent_s = 0.0;
  std::vector<GroupSight> groups{};
  std::vector<PastCall> past{};

  const GroupSight* call() const;  // one that it is inside of, or nullptr
};

/// How a culprit was found, the surest sign first.
enum class Sign {
  stopped,   // its process is stopped
  outside,   // it is in no call between ranks
  mismatch,  // it calls something else than the others
  awaited,   // most of the others wait for it
  left,      // they wait for it, but it has ended its work
  stuck      // all have come, and nothing moves
};

struct Culprit {
  int rank = 0;
  Sign sign = Sign::stuck;
  std::string difference{};  // of a mismatch: "rank 2 calls barrier; the others call ..."
};

/// Who holds the others up; nothing where every silent rank waits for one that gets on.
std::optional<Culprit> find_culprit(std::span<const RankState> ranks);

}  // namespace mgpu::watch
