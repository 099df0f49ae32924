#pragma once

#include <cstdint>
#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu::ad {

/// The values of the keys data.* of recipe `ad`. Each field has the name of its key.
struct DataConfig {
  std::string env;                   // name of the environment
  std::string source;                // name of the learning algorithm (Source) that plays histories
  std::string path;                  // file of histories to read instead of playing them; "": play
  int episodes = 0;                  // number of episodes of each history
  int streams = 0;                   // number of histories of each training task
  double source_epsilon = 0.0;       // probability that the Source takes a random action
  std::uint64_t env_split_seed = 0;  // selects the training tasks
};

void add_data_keys(KeyTable& table);

/// Reads the keys data.* of recipe `ad`. The key table has checked each value alone. This function
/// does not check whether the values fit together.
DataConfig read_data_config(const Config& config);

}  // namespace mgpu::ad
