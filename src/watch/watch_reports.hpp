#pragma once

#include <span>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/topology.hpp>

#include "culprit.hpp"
#include "shared_state.hpp"

namespace mgpu::watch {

/// The state of all ranks, from which functions such as report_of_death() make reports. The members
/// `slots` and `places` refer to data that the Watcher owns; the ranks may still change `slots`.
struct Scene {
  std::span<Slot> slots;                       // index: world rank
  std::span<const cluster::RankPlace> places;  // index: world rank
  std::vector<RankState> states{};             // index: world rank
  std::string longer{};                        // for a hang: the argument that makes the limit
                                               // longer, "watchdog.limit_s=3000"
  std::string report_file{};                   // path of hang_report.txt
};

/// Returns a list of ranks as text, such as "rank 4" or "ranks 0-2, 5".
std::string rank_list(const std::vector<int>& ranks);

/// Returns the report of a rank whose process has ended. `crash_cause` is the cause in the crash
/// file of that rank, or "" if no cause is known.
ErrorReport report_of_death(const Scene& scene, int rank, const std::string& crash_cause);

ErrorReport report_of_hang(const Scene& scene, const Culprit& culprit);

/// Returns the report of a node that has been out of contact for `silent_s` seconds.
ErrorReport report_of_lost_node(const Scene& scene, int node, double silent_s);

/// Returns one line for each rank: what it was doing, and for how long it has made no progress.
std::string all_ranks(const Scene& scene);

}  // namespace mgpu::watch
