#pragma once

#include <map>
#include <string>
#include <vector>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {

/// Numbers about a run by name, from which a job derives notes: "share/evaluation" = 0.054,
/// "rank/evaluation" = 0, ... facts_of() explains the names.
using NoteFacts = std::map<std::string, double, std::less<>>;

/// A remark about a run, with the setting to change.
struct Note {
  std::string text;    // "15.4 % of the run was evaluation"
  std::string key;     // the setting to change; "" for none
  std::string effect;  // what the change does

  std::string sentence() const { return text + ". " + effect + '.'; }
};

/// Returns the numbers share/<phase>, rank/<phase> and spread/<phase> of each phase. `share` is the
/// phase's share of the run's time. `rank` is the rank that spent most time in the phase. `spread`
/// is (t - m) / m, where t is the time of that rank in the phase, and m the mean over ranks. Only
/// phases that take over 10 % of the run have a `spread`.
NoteFacts facts_of(const std::vector<PhaseRow>& rows);

}  // namespace mgpu::report
