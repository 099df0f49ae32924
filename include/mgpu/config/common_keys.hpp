#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu {

/// Adds the keys that belong to no module: schema, job, include, log.*, report.* and most of run.*,
/// such as run.seed. Call it before other functions that add keys, because keys are printed in the
/// order in which they were added. `jobs` lists the values that the key `job` accepts. The default
/// of `job` is jobs.front(), but read_config() requires that a file or the command line sets it.
void add_common_keys(KeyTable& table, const std::vector<std::string>& jobs);

/// Adds the key data.path, which several jobs read.
void add_data_path_key(KeyTable& table);

/// Reads the key `job`.
std::string read_job_name(const Config& config);

/// Reads the key run.seed.
std::uint64_t read_seed(const Config& config);

/// Returns the value of the key data.path; "" if the value is null.
std::string read_data_path(const Config& config);

}  // namespace mgpu
