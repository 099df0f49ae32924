#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {

/// The numbers that rules compare: "share/evaluation" = 0.054, "rank/evaluation" = 0, ...
using NoteFacts = std::map<std::string, double, std::less<>>;

/// When `fact` is above `threshold`, a run gets a NOTE. Placeholders: {percent} of the fact and
/// {rank} of the phase; in `effect` {double}, which becomes "key=..." with twice the current value.
struct NoteRule {
  const char* fact;
  double threshold;
  const char* text;
  const char* key;     // what to change
  const char* effect;  // and what that does
};

/// The rules about phases of every job.
std::span<const NoteRule> note_rules();

struct Note {
  std::string text;
  std::string key;
  std::string effect;

  std::string sentence() const { return text + ". " + effect + '.'; }
};

/// The facts that phases give: share/<phase>, rank/<phase> and spread/<phase>. `rank` is the rank
/// that spent most time in the phase. `spread` is how far that rank is above the mean, if the phase
/// takes over 10 % of the run.
NoteFacts facts_of(const std::vector<PhaseRow>& rows);

/// The rules that hold, in their order. `settings`: the value of each key of this run.
std::vector<Note> notes_of(std::span<const NoteRule> rules, const NoteFacts& facts,
                           const std::map<std::string, std::string, std::less<>>& settings);

}  // namespace mgpu::report
