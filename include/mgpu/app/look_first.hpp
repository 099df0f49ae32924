#pragma once

#include <ostream>

#include <mgpu/app/cli.hpp>
#include <mgpu/app/load_config.hpp>

namespace mgpu::app {
ExitCode print_plan(const Options& options, const FileProvider& files, std::ostream& out);
ExitCode run_checks(const cluster::Group& world, const Options& options, std::ostream& out);
ExitCode merge_run(const cluster::Group& world, const Options& options);
}  // namespace mgpu::app
