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
///         the experiment, and for a preference that is not a number.
void check_preferences(const Config& config);

/// Reads experiment.preferences of a configuration that check_preferences() accepts.
Preferences read_preferences(const Config& config);

/// Sets Stage::preference of each stage to the sum of two terms. The first term is the preference
/// of `round` times the stage's round. The second term is the largest preference among the cells
/// whose evaluation is this stage or waits for it, directly or not. It is 0 if there is no such
/// cell. The preference of a cell is the sum of the preferences AXIS=VALUE of its values.
void set_preferences(const Preferences& preferences, StageGraph& graph);

}  // namespace mgpu::jobs
