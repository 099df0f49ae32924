#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/run/chunk_keys.hpp>

#include "matrix_keys.hpp"
#include "preferences.hpp"
#include "schedule.hpp"

namespace mgpu::jobs {

/// The values of the keys experiment.*.
struct ExperimentConfig {
  run::JobKeys run;
  std::filesystem::path folder;                           // experiment.folder
  std::vector<std::string> stages;                        // experiment.stages, in the given order
  std::map<std::string, std::vector<std::string>> after;  // experiment.after
  std::map<std::string, int> ranks;                       // experiment.ranks
  Matrix matrix;                                          // see read_matrix()
  bool stops_on_failure = false;                          // experiment.on_failure=stop
  Urgency urgency = Urgency::chain;                       // experiment.priority
  Preferences preferences;                                // experiment.preferences
  int retries = 0;                                        // experiment.retries
  bool gives_seed = false;  // true: run.seed is not 0, and replaces the seed of every stage
};

void add_experiment_keys(KeyTable& table);

/// Checks the rules between the keys experiment.*, without reading a file.
/// Errors: Failure E107, E114 or E124 (exit 78).
void check_experiment_keys(const Config& config);

/// Reads the keys experiment.* of a configuration that check_experiment_keys() accepts.
ExperimentConfig read_experiment_config(const Config& config);

}  // namespace mgpu::jobs
