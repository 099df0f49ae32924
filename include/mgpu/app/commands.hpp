#pragma once

#include <ostream>

#include <mgpu/app/cli.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// Whether a launcher says that this is another rank than the first. Works without MPI.
bool is_later_rank();

/// --plan: who does what, will it fit, how long. Works without MPI, GPU and driver. Under mpirun
/// only the first rank prints.
///
/// Errors: those of load_config() and of the rules between keys.
ExitCode print_plan(const Options& options, const FileProvider& files, std::ostream& out);

/// --check: one line for each thing that a run needs, as it is found. Without a configuration
/// it looks at the installation. Rank 0 prints.
///
/// Returns the exit code of the first check that failed; warnings and skipped checks are none.
/// Ranks:  collective over `world`; the same code on every rank.
ExitCode run_checks(const cluster::Group& world, const Options& options, std::ostream& out);

/// --merge DIR: makes the result file of an unfinished run, of what is there. The run may be
/// resumed afterwards. A finished run is left alone.
///
/// --merge DIR DIR ...: makes a new run directory whose result file is that of one run, of runs
/// that --only gave a part each. These are only read.
///
/// Ranks:  collective over `world`; rank 0 prints to stdout.
/// Errors: E610 (exit 65, parts are missing or of other runs), E609 (exit 66, not a run directory),
/// E603 (exit 66, it has no configuration), E607
///         (exit 81, the run is at work), and those of merge_train_job(); on all ranks.
ExitCode merge_run(const cluster::Group& world, const Options& options);

/// --export FORMAT DIR: writes the rows of a run's result file beside it: `jsonl` has table
/// `samples` as JSON lines; other formats belong to jobs. Works without MPI, GPU and driver. Under
/// mpirun only the first rank is to call it.
///
/// Errors: E143 (exit 64, a format that the job does not have), E603 (exit 66, no run directory, or
///         one without results), E602 (exit 74), and those of the format.
ExitCode export_run(const Options& options, std::ostream& out);

}  // namespace mgpu::app
