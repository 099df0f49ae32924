#include "preferences.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "cell_values.hpp"
#include "stages.hpp"

namespace mgpu::jobs {
namespace {

constexpr const char* kPreferences = "experiment.preferences";
constexpr const char* kRound = "round";

std::optional<double> number_of(const std::string& text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// Returns the names that experiment.preferences may have: `round`, and AXIS=VALUE for each
/// algorithm, data set, model and eta of the experiment.
std::vector<std::string> known_names(const Matrix& matrix) {
  std::vector<std::string> names{kRound};
  const auto add = [&](const std::string& axis, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      names.push_back(axis + "=" + value);
  };
  add("algorithm", matrix.algorithms);
  add("dataset", matrix.datasets);
  add("model", matrix.models);
  add("eta", matrix.etas);
  return names;
}

/// Returns the sum of the preferences AXIS=VALUE that match an entry of `values`. Preference
/// `round` is not included.
double sum_of(const Preferences& preferences, const CellValues& values) {
  double sum = 0.0;
  for (const auto& [axis, value] : values)
    if (const auto found = preferences.find(axis + "=" + value); found != preferences.end())
      sum += found->second;
  return sum;
}

/// Raises elements of `numbers`, which has one element for each stage. Raises the element of
/// `stage` and of all stages that it waits for, directly or not, to at least `sum`.
void raise(const StageGraph& graph, std::size_t stage, double sum, std::vector<double>& numbers) {
  std::vector<std::size_t> open{stage};
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    if (numbers[next] >= sum) continue;
    numbers[next] = sum;
    open.insert(open.end(), graph.stages[next].after.begin(), graph.stages[next].after.end());
  }
}

}  // namespace

void add_preferences_key(KeyTable& table) {
  table.add({.name = kPreferences,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "stages with a larger number come first, and experiment.priority decides "
                        "among equal ones; it is a sum: {round: 100, \"algorithm=pita\": 5}",
             .identity = false,
             .may_map = true});
}

void check_preferences(const Config& config) {
  const std::vector<std::string> names = config.texts(kPreferences);
  const std::vector<std::string> values = config.values(kPreferences);
  const std::vector<std::string> known = known_names(read_matrix(config));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(known, names[i]) == known.end())
      throw config.problem("E107", kPreferences,
                           "`" + names[i] + "` is neither `round` nor a value of this experiment",
                           "experiment.preferences={" + known.back() + ": 1}");
    if (!number_of(values[i]))
      throw config.problem("E107", kPreferences, "`" + values[i] + "` is no number",
                           "experiment.preferences={" + names[i] + ": 1}");
  }
}

Preferences read_preferences(const Config& config) {
  const std::vector<std::string> names = config.texts(kPreferences);
  const std::vector<std::string> values = config.values(kPreferences);
  Preferences preferences;
  for (std::size_t i = 0; i < names.size(); ++i)
    preferences[names[i]] = number_of(values[i]).value();
  return preferences;
}

void set_preferences(const Preferences& preferences, StageGraph& graph) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> of_cells(graph.stages.size(), kNone);
  for (const Cell& cell : graph.cells)
    raise(graph, cell.evaluation, sum_of(preferences, cell.values), of_cells);
  const auto round = preferences.find(kRound);
  const double per_round = round == preferences.end() ? 0.0 : round->second;
  for (std::size_t s = 0; s < graph.stages.size(); ++s)
    graph.stages[s].preference =
        per_round * round_of(graph.stages[s].values) + (of_cells[s] == kNone ? 0.0 : of_cells[s]);
}

}  // namespace mgpu::jobs
