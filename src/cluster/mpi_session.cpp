#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <mpi.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/cluster/mpi_session.hpp>

namespace mgpu::cluster {
namespace {

int world_rank() {
  int rank = 0;
  mpi_check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  return rank;
}

}  // namespace

void check_launch() {
  const bool is_slurm_task = std::getenv("SLURM_STEP_ID") != nullptr;
  if (!is_slurm_task || std::getenv("PMIX_RANK") != nullptr) return;
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  std::string sentence = "this Slurm task cannot start MPI";
  if (tasks != nullptr && std::string_view(tasks) != "1") {
    sentence = std::string("this is one of ") + tasks + " Slurm tasks, but MPI sees only itself";
  }
  throw Failure({"E211",
                 ExitCode::unavailable,
                 sentence,
                 {"  srun was started without PMIx (no PMIX_RANK in the environment)."},
                 "srun --mpi=pmix ...      (`srun --mpi=list` shows what this cluster has)"});
}

MpiSession::MpiSession() {
  setenv("OMPI_MCA_io", "romio321", /*overwrite=*/1);
  int provided = MPI_THREAD_SINGLE;
  mpi_check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  mpi_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  if (provided < MPI_THREAD_MULTIPLE) {
    throw Failure({"E212",
                   ExitCode::unavailable,
                   "this MPI library cannot be called from several threads",
                   {"  MPI_THREAD_MULTIPLE was asked for; the communication thread needs it."},
                   "load an Open MPI that was built with --enable-mpi-thread-multiple"});
  }
  set_failpoint_rank(world_rank());
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == exceptions_at_birth_) MPI_Finalize();
}

void abort_world(ExitCode code) noexcept {
  std::fflush(nullptr);
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  if (is_initialized != 0 && is_finalized == 0) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace mgpu::cluster
