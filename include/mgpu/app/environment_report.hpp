#pragma once

#include <string>

namespace mgpu::app {

/// "mgpu_spmd 0.1.0", with `verbose` also the versions of the libraries. Ends with a newline.
std::string version_text(bool verbose);

/// What --env prints: versions, machine, and the variables that steer MPI, NCCL, CUDA and Slurm;
/// no other variable, so that nothing secret gets into an issue. Works without MPI_Init.
std::string environment_text();

}  // namespace mgpu::app
