#pragma once

#include <map>
#include <string>
#include <string_view>

namespace mgpu {

/// Returns whether a variable may be shown and stored: a setting of MPI, libfabric, NCCL, UCX,
/// CUDA, OpenMP, HDF5, Slurm or this program that is known to hold no secret. All others are left
/// out, because any of them may hold one. SLURM_JWT is a token, for example, and SLURM_COMMENT is
/// free text.
bool is_shown_variable(std::string_view name);

/// Returns the variables of an environment (`environ`) that may be shown, with redact() applied to
/// their values.
std::map<std::string, std::string> shown_environment(const char* const* environment);

}  // namespace mgpu
