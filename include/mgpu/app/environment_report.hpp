#pragma once

#include <string>

namespace mgpu::app {

/// Returns the program's name and version, such as "mgpu_spmd 0.1.0", and a newline. If `verbose`,
/// lines with the Git commit and the versions of the libraries and the compiler follow.
std::string version_text(bool verbose);

/// Returns the text of --env: versions, the machine, and the environment variables that
/// shown_environment() returns. Other variables are left out, to keep secrets out of bug reports.
/// Works without MPI_Init.
std::string environment_text();

}  // namespace mgpu::app
