#include <array>
#include <cstdlib>

#include <mgpu/report/notes.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

constexpr std::array kRules = {
    NoteRule{"share/other", 0.10, "{percent} of the run belongs to no named phase", "log.level",
             "log.level=debug says more about what happens"},
    NoteRule{"spread/forward", 0.15,
             "rank {rank} needed {percent} more time than the mean in forward, and the others "
             "waited for it",
             "devices.gpus", "A list without that device leaves it out"},
};

void replace(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), with);
}

double value_or(const NoteFacts& facts, const std::string& name, double otherwise) {
  const auto found = facts.find(name);
  return found == facts.end() ? otherwise : found->second;
}

/// Formats the key of `rule` with twice its value: "checkpoint.every=2000". If the value is not a
/// number, returns "A larger checkpoint.every".
std::string doubled(const NoteRule& rule,
                    const std::map<std::string, std::string, std::less<>>& settings) {
  const auto found = settings.find(rule.key);
  if (found != settings.end()) {
    char* end = nullptr;
    const double value = std::strtod(found->second.c_str(), &end);
    const bool number = end != found->second.c_str() && *end == '\0';
    if (number && value >= 1) return text_of("%s=%.0f", rule.key, 2.0 * value);
  }
  return std::string("A larger ") + rule.key;
}

Note note_of(const NoteRule& rule, double value, const NoteFacts& facts,
             const std::map<std::string, std::string, std::less<>>& settings) {
  Note note{rule.text, rule.key, rule.effect};
  const std::string_view fact = rule.fact;
  const std::string phase(fact.substr(fact.find('/') + 1));
  replace(note.text, "{percent}", percent(value));
  replace(note.text, "{rank}", text_of("%.0f", value_or(facts, "rank/" + phase, 0.0)));
  replace(note.effect, "{double}", doubled(rule, settings));
  return note;
}

}  // namespace

std::span<const NoteRule> note_rules() {
  return kRules;
}

NoteFacts facts_of(const std::vector<PhaseRow>& rows) {
  constexpr double kWorthLooking = 0.10;
  NoteFacts facts;
  for (const PhaseRow& row : rows) {
    facts["share/" + row.phase] = row.share;
    facts["rank/" + row.phase] = row.max_rank;
    if (row.share > kWorthLooking && row.mean_s > 0)
      facts["spread/" + row.phase] = row.max_s / row.mean_s - 1.0;
  }
  return facts;
}

std::vector<Note> notes_of(std::span<const NoteRule> rules, const NoteFacts& facts,
                           const std::map<std::string, std::string, std::less<>>& settings) {
  std::vector<Note> notes;
  for (const NoteRule& rule : rules) {
    const auto found = facts.find(rule.fact);
    if (found == facts.end() || !(found->second > rule.threshold)) continue;
    notes.push_back(note_of(rule, found->second, facts, settings));
  }
  return notes;
}

}  // namespace mgpu::report
