#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {

/// What a rule looks at: "share/evaluation" = 0.054, "rank/evaluation" = 0, ...
using NoteFacts = std::map<std::string, double, std::less<>>;

/// When `fact` is above `threshold`, a run gets a NOTE. Placeholders: {percent} of the fact,
/// {rank} of the phase; in `effect` {double}, the setting "key=..." twice as large as it was.
struct NoteRule {
  const char* fact;
  double threshold;
  const char* text;
  const char* key;     // what to change
  const char* effect;  // and what that does
};
std::span<const NoteRule> note_rules();

struct Note {
  std::string text;
  std::string key;
  std::string effect;

  std::string sentence() const { return text + ". " + effect + '.'; }
};

/// The facts that phases give: share/<phase>, rank/<phase> (who spent most in it) and
/// spread/<phase> (how far that rank is above the mean, where the phase has over 10 % of the run).
NoteFacts facts_of(const std::vector<PhaseRow>& rows);

/// The rules that hold, in the order of the table. `settings`: the value of each key of this run.
std::vector<Note> notes_of(const NoteFacts& facts,
                           const std::map<std::string, std::string, std::less<>>& settings);

}  // namespace mgpu::report
