#pragma once

#include <optional>
#include <ostream>

#include <mgpu/app/cli.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// Returns whether a launcher started this process as a rank other than the first. Works without
/// MPI.
bool is_later_rank();

/// --plan: prints the work of each rank, whether the work fits into memory, and the estimated time.
/// Works without MPI, GPU and driver. Under mpirun only the first rank prints.
///
/// Errors: those of load_config(), of reading the job's keys and of Job::plan(); E206 (exit 69)
///         when there are GPUs but CUDA does not work.
ExitCode print_plan(const Options& options, const FileProvider& files, std::ostream& out);

/// --check: tests everything that a run needs, and prints a line for each test, or JSON with
/// --json. If the command line names no configuration, tests only the installation. Rank 0 prints.
///
/// Returns the exit code of the first test that failed, or ExitCode::done if no test failed.
/// Warnings and skipped tests are not failures.
/// Ranks:  collective over `world`; every rank returns the same code.
ExitCode run_checks(const cluster::Group& world, const Options& options, std::ostream& out);

/// --merge DIR: makes the result file of an unfinished run from its finished chunks. The run can be
/// resumed afterwards. If the run is finished, nothing changes.
///
/// --merge DIR DIR ...: combines finished runs, each of which did one part of the work (--only
/// I/N). Makes a new run directory, whose result file equals that of a single run of all parts. The
/// given directories are not changed.
///
/// Ranks:  collective over `world`; rank 0 prints to stdout.
/// Errors: on all ranks: E610 (exit 65, the runs do not fit together, or parts are missing or
///         unfinished); E609 (exit 66, not a run directory); E603 (exit 66, no configuration); E607
///         (exit 81, the run is in progress); and those of reading the runs, of writing results,
///         and of Job::merge().
ExitCode merge_run(const cluster::Group& world, const Options& options);

/// --export FORMAT DIR: writes the rows of a run's result file to another file in the same folder.
/// Format `jsonl` writes table `samples` as JSON lines; each job defines its other formats. Works
/// without MPI, GPU and driver. Under mpirun only the first rank may call it. The command line
/// may set keys (KEY=VALUE) that do not change results.
///
/// Errors: E143 (exit 64, no such format, no table `samples`, or a key that changes results); E609
///         (exit 66, not a run directory); E603 (exit 66, no result file); E602 (exit 74, write
///         failed); and those of reading the run and of writing the format.
ExitCode export_run(const Options& options, std::ostream& out);

/// --compare BEFORE AFTER: prints the differences between the metrics of two runs on the same
/// prompts, and writes them to a JSON file and a page in the directory AFTER. Works without MPI,
/// GPU and driver. Under mpirun only the first rank may call it.
///
/// Errors: E145 (exit 65, the runs cannot be compared); E609 (exit 66, not a run directory); E603
///         (exit 66, a run without results); E601, E602 (the files cannot be written); and those of
///         reading results.
ExitCode compare_runs(const Options& options, std::ostream& out);

/// Carries out the action of `options` if it needs no run and no MPI: --plan, --export, --compare,
/// and the actions of print_info(). Under mpirun only the first rank prints.
///
/// Returns the exit code, or nullopt for actions that need MPI.
/// Errors: those of print_plan(), export_run(), compare_runs() and print_info().
std::optional<ExitCode> answer_without_mpi(const Options& options, std::ostream& out);

}  // namespace mgpu::app
