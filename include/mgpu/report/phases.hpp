#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::report {

/// The time that one rank spent in each phase of its PhaseClock. For `shares`, the time of the run
/// is divided into a small number of equal bins.
struct RankPhases {
  std::map<std::string, double> seconds;             // phase -> seconds
  std::map<std::string, std::int64_t> calls;         // phase -> how often it was entered
  double wall_s = 0.0;                               // sum of the seconds
  std::map<std::string, std::vector<float>> shares;  // phase -> its share in each bin, from 0 to 1
};

/// The phases of all ranks, over one common time axis.
struct PhaseTable {
  std::vector<std::string> phases;  // in order of first use on rank 0, then on rank 1, ...
  std::vector<RankPhases> ranks;
  double wall_s = 0.0;  // largest RankPhases::wall_s, the time that the bins of shares cover
};

/// Gathers the times of all ranks, and returns them on rank 0; other ranks get an empty table.
///
/// Ranks:  collective over `group`.
PhaseTable gather_phases(const cluster::Group& group, const PhaseClock& clock);

/// One phase, as a line of the end table. Row "other", for time outside of named phases, is the
/// last row.
struct PhaseRow {
  std::string phase;
  double mean_s = 0.0;  // mean over ranks
  double share = 0.0;   // part of the wall time of all ranks; the shares of all rows add up to 1
  double min_s = 0.0;
  double max_s = 0.0;
  int max_rank = 0;
  int ranks_in_it = 0;  // ranks that spent any time in the phase
};
std::vector<PhaseRow> phase_rows(const PhaseTable& table);

}  // namespace mgpu::report
