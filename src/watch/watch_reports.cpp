#include "watch_reports.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "state_of_slot.hpp"

namespace mgpu::watch {
namespace {

constexpr const char* kResume = "the same command resumes the run";

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", s);
  return text;
}

std::string name_of(const Scene& scene, int rank) {
  return "rank " + std::to_string(rank) + " (" + scene.places[static_cast<std::size_t>(rank)].host +
         ", pid " + std::to_string(scene.slots[static_cast<std::size_t>(rank)].pid) + ")";
}

/// Adds lines to `report` that say what the ranks other than `but` do. Ranks that do the same share
/// a line. Ranks without Presence::here get no line. In a long report, a line with
/// Scene::report_file replaces the remaining lines.
void add_others(const Scene& scene, int but, ErrorReport& report) {
  std::map<std::string, std::vector<int>> by_activity;
  for (std::size_t r = 0; r < scene.slots.size(); ++r) {
    if (std::cmp_equal(r, but) || scene.slots[r].presence != Presence::here) continue;
    by_activity[activity_text(scene.slots[r])].push_back(static_cast<int>(r));
  }
  constexpr std::size_t kMost = 6;
  for (const auto& [doing, ranks] : by_activity) {
    if (report.lines.size() > kMost) {
      report.lines.emplace_back("  ... all ranks: " + scene.report_file);
      return;
    }
    report.lines.push_back("  " + rank_list(ranks) + ": " + doing);
  }
}

std::string sentence_of(const std::string& name, const Scene& scene, const Culprit& culprit) {
  const RankState& state = scene.states[static_cast<std::size_t>(culprit.rank)];
  const std::string since = " for " + seconds(state.silent_s);
  switch (culprit.sign) {
    case Sign::stopped:
      return name + " hangs: its process is stopped, no progress" + since;
    case Sign::outside:
      return name + " hangs: no progress" + since;
    case Sign::mismatch:
      return name + " calls something else than the others: no progress" + since;
    case Sign::awaited:
      return name + " does not come to where the others wait: no progress" + since;
    case Sign::left:
      return name + " has ended its work while others wait for it";
    case Sign::stuck:
      return "nothing moves between the ranks, " + name + " among them: no progress" + since;
  }
  return name;
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (end - i > 1) text.append("-").append(std::to_string(ranks[end - 1]));
    i = end;
  }
  return text;
}

ErrorReport report_of_death(const Scene& scene, int rank, const std::string& crash_cause) {
  ErrorReport report{"E401", ExitCode::ranks_lost, name_of(scene, rank) + " died", {}, kResume};
  report.lines.push_back("  it was last in " +
                         activity_text(scene.slots[static_cast<std::size_t>(rank)]));
  if (!crash_cause.empty()) report.lines.push_back("  its last words: " + crash_cause);
  return report;
}

ErrorReport report_of_hang(const Scene& scene, const Culprit& culprit) {
  const Slot& slot = scene.slots[static_cast<std::size_t>(culprit.rank)];
  const std::string name = name_of(scene, culprit.rank);
  ErrorReport report{"E405", ExitCode::ranks_lost, sentence_of(name, scene, culprit), {}, kResume};
  report.lines.push_back("  " + rank_list({culprit.rank}) + ": " + activity_text(slot));
  const std::string kernel = slot.kernel.get();
  if (!kernel.empty()) report.lines.push_back("  its process: " + kernel);
  if (!culprit.difference.empty()) report.lines.push_back("  " + culprit.difference);
  add_others(scene, culprit.rank, report);
  report.lines.push_back("  stacks: " + scene.report_file + ", crash/ in its folder");
  report.help.append("; ").append(scene.longer).append(" waits longer");
  return report;
}

ErrorReport report_of_lost_node(const Scene& scene, int node, double silent_s) {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < scene.places.size(); ++r) {
    if (scene.places[r].node_index == node) ranks.push_back(static_cast<int>(r));
  }
  const int first = ranks.front();
  ErrorReport report{"E401",
                     ExitCode::ranks_lost,
                     "node " + scene.places[static_cast<std::size_t>(first)].host + " (" +
                         rank_list(ranks) + ") has said nothing for " + seconds(silent_s),
                     {},
                     std::string(kResume) + ", on other nodes if this one is down"};
  report.lines.push_back("  rank " + std::to_string(first) + " was last in " +
                         activity_text(scene.slots[static_cast<std::size_t>(first)]));
  return report;
}

std::string all_ranks(const Scene& scene) {
  std::string text;
  for (std::size_t r = 0; r < scene.slots.size(); ++r) {
    const Slot& slot = scene.slots[r];
    text += name_of(scene, static_cast<int>(r));
    if (slot.presence == Presence::left) text += ", has left";
    text += ": " + activity_text(slot);
    text += "; no progress for " + seconds(scene.states[r].silent_s);
    const std::string kernel = slot.kernel.get();
    if (!kernel.empty()) text += "; " + kernel;
    text += "\n";
  }
  return text;
}

}  // namespace mgpu::watch
