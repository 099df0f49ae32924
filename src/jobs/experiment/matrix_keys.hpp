#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::jobs {

/// The values of the keys experiment.* that decide which cells an experiment has. A cell is one
/// evaluation of an algorithm. A stage file (NAME.yaml in experiment.folder) makes one stage for
/// each combination of the values that the file uses.
struct Matrix {
  std::vector<std::string>
      algorithms;  // experiment.baseline, and the enabled names in experiment.algorithms
  std::vector<std::string> datasets;                       // experiment.datasets
  std::vector<std::string> models;                         // experiment.models
  std::vector<std::string> etas;                           // experiment.etas
  int rounds = 1;                                          // experiment.rounds
  bool has_barrier = false;                                // experiment.round_barrier
  std::string baseline;                                    // experiment.baseline; "" for none
  std::map<std::string, std::vector<std::string>> select;  // experiment.select
  run::ChunkPart part{};  // the part of the cells that --only chooses; see values_of_cells()
};

void add_matrix_keys(KeyTable& table);

/// Checks the rules between the keys of Matrix.
/// Errors: Failure E107 or E124 (exit 78).
void check_matrix_keys(const Config& config);

/// Returns whether experiment.algorithms names an algorithm, enabled or not.
bool has_algorithms(const Config& config);

/// Reads the keys of Matrix from a configuration that check_matrix_keys() accepts.
Matrix read_matrix(const Config& config);

/// Returns whether `name` has only letters, digits, `_`, `-`, and the characters in `more`. Returns
/// false if `name` is empty or begins with `.`.
bool is_plain_name(std::string_view name, std::string_view more = "");

/// Splits a text at white space.
std::vector<std::string> words_of(const std::string& text);

}  // namespace mgpu::jobs
