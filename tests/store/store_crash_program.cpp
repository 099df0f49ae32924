// A small program that uses the whole store: it opens the run directory, finishes the missing
// chunks, seals, and marks the run as finished. Tests kill it at failpoints and start it again.
//
//   store_crash_program OUTPUT ROWS GZIP [merge]
//
// Exits with the failure's code, which mpirun returns. With `merge` it seals the existing chunks.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <mpi.h>
#include <unistd.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/seal.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

RunRequest make_request(const char* output) {
  RunRequest request;
  request.output = output;
  request.name = "crash";
  request.job = "test";
  request.identity = "same";
  return request;
}

void run(const cluster::Group& world, char** arguments, bool is_merge) {
  RunDirectory directory(world, make_request(arguments[1]));
  const TableSpec spec = test::sample_spec(std::atol(arguments[2]));
  ChunkJournal journal(directory.path(), world, directory.attempt(), 0.0);
  SealRequest request =
      test::sample_request(directory.path() / "results.h5", spec, std::atoi(arguments[3]));
  request.attempt = directory.attempt();
  request.check_current = [&] { directory.check_current(); };
  request.partial = is_merge;
  cluster::run_together(world, [&] {
    if (!is_merge) test::run_phase(journal, world, spec);
  });
  journal.commit();
  seal(world, journal, request);
  if (!is_merge) directory.finish(world, ExitCode::done);
}

}  // namespace
}  // namespace mgpu::store

int main(int argc, char** argv) {
  ::setenv("OMPI_MCA_io", "romio321", 1);  // ompio loses data on a full disk
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mgpu::set_failpoint_rank(rank);
  int code = 0;
  try {
    const mgpu::cluster::Group world = mgpu::cluster::Group::world();
    mgpu::store::run(world, argv, argc > 4);
  } catch (const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "%s\n", error.what());
    code = static_cast<int>(mgpu::report_of(error).exit);
  }
  MPI_Finalize();
  return code;
}
