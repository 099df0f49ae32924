#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {

/// Numbers about a run, which NoteRules compare with thresholds: "share/evaluation" = 0.054,
/// "rank/evaluation" = 0, ...
using NoteFacts = std::map<std::string, double, std::less<>>;

/// Advice for a run: it gets a NOTE when the number `fact` is above `threshold`. In `text`,
/// {percent} stands for that number, and {rank} for the rank that spent most time in the phase of
/// `fact`. In `effect`, {double} stands for "KEY=..." with twice the current value.
struct NoteRule {
  const char* fact;
  double threshold;
  const char* text;
  const char* key;     // the setting to change
  const char* effect;  // what that change does
};

/// Returns the rules that apply to every job.
std::span<const NoteRule> note_rules();

struct Note {
  std::string text;
  std::string key;
  std::string effect;

  std::string sentence() const { return text + ". " + effect + '.'; }
};

/// Returns the numbers share/<phase>, rank/<phase> and spread/<phase> of each phase. `rank` is the
/// rank that spent most time in the phase. `spread` is how much more time that rank spent than the
/// mean, as a share of the mean. Only phases that take over 10 % of the run have a `spread`.
NoteFacts facts_of(const std::vector<PhaseRow>& rows);

/// Returns the notes of those rules whose `fact` is above the threshold, in the order of the rules.
/// `settings`: the value of each key of this run.
std::vector<Note> notes_of(std::span<const NoteRule> rules, const NoteFacts& facts,
                           const std::map<std::string, std::string, std::less<>>& settings);

}  // namespace mgpu::report
