#pragma once

#include <map>
#include <string>
#include <string_view>

namespace mgpu {

/// Returns whether the environment variable `name` may be shown and stored. Returns true only for
/// settings of MPI, libfabric, NCCL, UCX, CUDA, OpenMP, HDF5, Slurm and this program that are known
/// to contain no secret. Every other variable may contain a secret. SLURM_JWT is a token, for
/// example, and SLURM_COMMENT is free text.
bool is_shown_variable(std::string_view name);

/// Returns the variables of an environment (`environ`) that may be shown, with redact() applied to
/// their values.
std::map<std::string, std::string> shown_environment(const char* const* environment);

}  // namespace mgpu
