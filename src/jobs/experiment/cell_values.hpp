#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "matrix_keys.hpp"

namespace mgpu::jobs {

/// Values of the names that stage files use as ${NAME}: {{"algorithm", "pita"}, {"round", "0"}}.
using CellValues = std::map<std::string, std::string>;

/// The names that CellValues may have, in the order in which stage_name() appends their values.
inline constexpr std::array kAxes = {"algorithm", "dataset", "model", "round", "eta"};

/// Returns whether `name` is one of kAxes.
bool is_axis(const std::string& name);

/// Returns whether `a` and `b` have equal values for each name that occurs in both.
bool agree(const CellValues& a, const CellValues& b);

/// Returns the value of `round` as a number; 0 if `values` has no round.
int round_of(const CellValues& values);

/// Returns the name of the stage that a stage file makes with the values that it uses:
/// "value-star_graph-r0", "guided-pita-eta0.5". `file_name` is the name of the file without .yaml.
/// The algorithm is left out if it equals `file_name`.
std::string stage_name(const std::string& file_name, const CellValues& values);

/// Returns the values of this run's cells that experiment.select selects, in ascending order of
/// rounds. A name whose list in `matrix` is empty has no value; without any list there is one cell
/// per round. With --only I/N, the run has every N-th combination of algorithm, data set and model,
/// with all rounds and etas. The cells of the baseline belong to every part.
std::vector<CellValues> values_of_cells(const Matrix& matrix);

/// Returns the number of combinations of algorithm, data set and model that --only I/N divides
/// among the parts. Those of the baseline do not count.
int num_dealt(const Matrix& matrix);

}  // namespace mgpu::jobs
