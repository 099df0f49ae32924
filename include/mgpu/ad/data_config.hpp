#pragma once

#include <cstdint>
#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu::ad {

/// The keys data.*; fields are called as their keys are.
struct DataConfig {
  std::string env;                   // which environment
  std::string source;                // which source plays the histories
  std::string path;                  // histories to read instead of playing them; "" for none
  int episodes = 0;                  // of each history
  int streams = 0;                   // histories of each training task
  double source_epsilon = 0.0;       // probability of a random action of the source
  std::uint64_t env_split_seed = 0;  // which tasks are for training
};

void add_data_keys(KeyTable& table);

/// Errors: none beyond those that the table checks.
DataConfig read_data_config(const Config& config);

}  // namespace mgpu::ad
