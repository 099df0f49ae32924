#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu {

/// Adds the keys that belong to no module: schema, job, include, run.seed, run.deterministic,
/// run.chunk_size, run.time_limit, log.*, report.*. Call this first, because they are printed
/// first. `jobs`: names, at least one.
void add_common_keys(KeyTable& table, const std::vector<std::string>& jobs);

/// Adds the key data.path, which every job reads.
void add_data_path_key(KeyTable& table);

/// Reads the key `job`.
std::string read_job_name(const Config& config);

/// Reads the key run.seed.
std::uint64_t read_seed(const Config& config);

/// Reads the key data.path; "" if it is null.
std::string read_data_path(const Config& config);

}  // namespace mgpu
