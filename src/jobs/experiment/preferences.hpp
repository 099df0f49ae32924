#pragma once

#include <map>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "matrix_keys.hpp"

namespace mgpu::jobs {

struct StageGraph;

/// The numbers of experiment.preferences by name: "round", "algorithm=pita".
using Preferences = std::map<std::string, double>;

void add_preferences_key(KeyTable& table);

/// Checks experiment.preferences.
/// Errors: Failure E107 (exit 78) for a name that is neither `round` nor AXIS=VALUE with a value of
///         the experiment, and for a value that is no number.
void check_preferences(const Config& config);

/// Returns the values of a key that check_preferences() accepts.
Preferences read_preferences(const Config& config);

/// Sets Stage::preference of each stage to the sum of two terms. The first term is the preference
/// of `round` times the stage's round. For the second term, the preferences of each cell's values
/// are summed. The term is the largest of these sums over the cells that need the stage.
void set_preferences(const Preferences& preferences, StageGraph& graph);

}  // namespace mgpu::jobs
