#include <algorithm>
#include <vector>

#include <mgpu/config/nearest_name.hpp>

#include "key_checker.hpp"

namespace mgpu {
namespace {

struct SplitName {
  std::string_view section;  // "train"; "" at the top
  std::string_view last;     // "max_steps"
};

SplitName split(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {"", name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

/// Returns every key and every section of the table.
std::vector<std::string> all_names(const KeyTable& table) {
  std::vector<std::string> names;
  for (const KeySpec& spec : table.keys()) {
    for (std::size_t dot = spec.name.find('.'); dot != std::string::npos;
         dot = spec.name.find('.', dot + 1)) {
      const std::string section = spec.name.substr(0, dot);
      if (std::find(names.begin(), names.end(), section) == names.end()) names.push_back(section);
    }
    names.push_back(spec.name);
  }
  return names;
}

}  // namespace

std::string suggest_key(const KeyTable& table, std::string_view called) {
  const std::string name_without_alias = table.canonical(called);
  const SplitName mine = split(name_without_alias);
  std::string best;
  // The cost of a name is twice the number of edits between its last part and the last part of
  // `called`. A name in a different section costs 1 more. If only the section differs, the cost is
  // 3, so that a key of the same section with one edit in its last part (cost 2) is preferred. No
  // cost exceeds twice the number of edits between the whole names.
  std::size_t best_cost = 2 * tolerated_edits(mine.last) + 1;
  for (const std::string& name : all_names(table)) {
    const SplitName other = split(name);
    const std::size_t whole = 2 * edit_distance(name_without_alias, name);
    std::size_t cost = 2 * edit_distance(mine.last, other.last) + 1;
    if (mine.section == other.section) --cost;
    if (mine.last == other.last) cost = 3;
    cost = std::min(cost, whole);
    if (cost >= best_cost) continue;
    best = name;
    best_cost = cost;
  }
  return best;
}

}  // namespace mgpu
