#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "matrix_keys.hpp"

namespace mgpu::jobs {

/// Values of the names that stage files use as ${NAME}: {{"algorithm", "pita"}, {"round", "0"}}.
using CellValues = std::map<std::string, std::string>;

/// The names of these values, in the order in which the names of stages have them.
inline constexpr std::array kAxes = {"algorithm", "dataset", "model", "round", "eta"};

/// Returns whether `name` is one of kAxes.
bool is_axis(const std::string& name);

/// Returns whether both have the same value for each name that both have.
bool agree(const CellValues& a, const CellValues& b);

/// Returns the round; 0 without one.
int round_of(const CellValues& values);

/// Returns the name of the stage that a file makes with the values that it uses:
/// "value-star_graph-r0", "guided-pita-eta0.5". `file_name` is without .yaml. An algorithm with the
/// name of the file is left out.
std::string stage_name(const std::string& file_name, const CellValues& values);

/// Returns the values of all cells that experiment.select leaves, later rounds last. A name whose
/// list is empty has no value. Without lists there is one cell, of round 0. Of the combinations of
/// algorithm, data set and model, every Matrix::part.count-th one belongs to this part, with all
/// its rounds and etas. The baseline belongs to each part.
std::vector<CellValues> values_of_cells(const Matrix& matrix);

/// Returns how many combinations of algorithm, data set and model all parts together share.
int num_dealt(const Matrix& matrix);

}  // namespace mgpu::jobs
