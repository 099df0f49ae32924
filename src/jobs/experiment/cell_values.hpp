#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "matrix_keys.hpp"

namespace mgpu::jobs {

/// Maps a name to its value, for example "round" to "0". A stage file refers to the value by the
/// placeholder ${NAME}.
using CellValues = std::map<std::string, std::string>;

/// The names that CellValues may have, in the order in which stage_name() appends their values.
inline constexpr std::array kAxes = {"algorithm", "dataset", "model", "round", "eta"};

/// Returns whether `name` is one of kAxes.
bool is_axis(const std::string& name);

/// Returns whether `a` and `b` have equal values for each name that occurs in both.
bool have_no_conflict(const CellValues& a, const CellValues& b);

/// Returns the value of name `round` as a number; 0 if `values` has no round.
int round_of(const CellValues& values);

/// Returns the name of a stage, such as "value-star_graph-r0" or "guided-pita-eta0.5". `file_name`
/// is the name of the stage file without .yaml. `values` has the values that the stage uses. The
/// algorithm is left out if it equals `file_name`.
std::string stage_name(const std::string& file_name, const CellValues& values);

/// Returns the values of the cells of this run, in ascending order of rounds. Only cells that
/// experiment.select selects are returned. If a list in `matrix` is empty, the cells have no value
/// from it. For example, no cell has a `model` if Matrix::models is empty. If all lists are empty,
/// there is one cell per round.
///
/// With --only I/N, the combinations of algorithm, data set and model are numbered from 0. The run
/// has the cells of combinations I, I + N, I + 2N and so on. Combinations with the baseline or
/// without an algorithm have no number, because every part has their cells.
std::vector<CellValues> values_of_cells(const Matrix& matrix);

/// Returns the number of combinations of algorithm, data set and model that --only I/N divides
/// among the N parts. Does not count combinations with the baseline or without an algorithm,
/// because every part has their cells.
int num_dealt(const Matrix& matrix);

}  // namespace mgpu::jobs
