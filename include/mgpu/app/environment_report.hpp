#pragma once

#include <string>

namespace mgpu::app {

/// Returns "mgpu_spmd 0.1.0", with `verbose` also the versions of the libraries. Ends with a
/// newline.
std::string version_text(bool verbose);

/// Returns the text of --env: versions, the machine, and the environment variables that steer MPI,
/// NCCL, CUDA and Slurm. Other variables are left out, to keep secrets out of bug reports. Works
/// without MPI_Init.
std::string environment_text();

}  // namespace mgpu::app
