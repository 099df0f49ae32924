#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::jobs {

/// The values of the keys experiment.* that decide which cells an experiment has, and so with which
/// values each stage file is repeated.
struct Matrix {
  std::vector<std::string>
      algorithms;  // experiment.baseline, and the enabled ones of experiment.algorithms
  std::vector<std::string> datasets;                       // experiment.datasets
  std::vector<std::string> models;                         // experiment.models
  std::vector<std::string> etas;                           // experiment.etas
  int rounds = 1;                                          // experiment.rounds
  bool has_barrier = false;                                // experiment.round_barrier
  std::string baseline;                                    // experiment.baseline; "" for none
  std::map<std::string, std::vector<std::string>> select;  // experiment.select
  run::ChunkPart part{};  // part of the cells, which --only chooses; see values_of_cells()
};

void add_matrix_keys(KeyTable& table);

/// Checks the rules between the keys of Matrix. Errors: Failure (exit 78) E107 or E124.
void check_matrix_keys(const Config& config);

/// Returns the values of keys that check_matrix_keys() accepts.
Matrix read_matrix(const Config& config);

/// Returns whether `name` has only letters, digits, `_`, `-`, and the characters in `more`. It must
/// not be empty or begin with `.`.
bool is_plain_name(std::string_view name, std::string_view more = "");

/// Splits a text at white space.
std::vector<std::string> words_of(const std::string& text);

}  // namespace mgpu::jobs
