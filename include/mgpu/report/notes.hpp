#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {

/// The numbers that rules compare: "share/evaluation" = 0.054, "rank/evaluation" = 0, ...
using NoteFacts = std::map<std::string, double, std::less<>>;

/// A run gets a NOTE when `fact` is above `threshold`. In `text`, {percent} becomes the fact, and
/// {rank} the rank that spent most time in the phase. In `effect`, {double} becomes "key=..." with
/// twice the current value.
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

/// Returns the facts about phases: share/<phase>, rank/<phase> and spread/<phase>. `rank` is the
/// rank that spent most time in the phase. `spread` is how much more time that rank spent than the
/// mean, as a share of the mean. Only phases that take over 10 % of the run have a `spread`.
NoteFacts facts_of(const std::vector<PhaseRow>& rows);

/// Returns the notes of the rules whose fact is above the threshold, in the order of the rules.
/// `settings`: the value of each key of this run.
std::vector<Note> notes_of(std::span<const NoteRule> rules, const NoteFacts& facts,
                           const std::map<std::string, std::string, std::less<>>& settings);

}  // namespace mgpu::report
