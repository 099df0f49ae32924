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

/// Errors: Failure E107 (exit 78) for a name that is neither `round` nor AXIS=VALUE with a value of
///         the experiment, and for a value that is no number.
void check_preferences(const Config& config);

/// Returns the values of a key that check_preferences() accepts.
Preferences read_preferences(const Config& config);

/// Sets Stage::preference. It is the number of `round` times the round of the stage, plus a number
/// for the cells that need the stage: the largest sum of the numbers of a cell's values.
void set_preferences(const Preferences& preferences, StageGraph& graph);

}  // namespace mgpu::jobs
