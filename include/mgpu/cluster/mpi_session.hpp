#pragma once

#include <exception>

#include <mgpu/base/error.hpp>

namespace mgpu::cluster {

/// Throws if Slurm started this process without PMIx. In that case MPI_Init would end the process,
/// or see a world of only this rank. Call this function before MpiSession.
///
/// Errors: Failure E211 (exit 69).
void check_launch();

/// Initializes MPI; the destructor finalizes it. Make one object per process, before any Group.
///
/// The constructor asks for MPI_THREAD_MULTIPLE, makes MPI report errors as codes, and tells the
/// failpoints the world rank of this process. It selects ROMIO for file I/O, because Open MPI's
/// ompio loses data on a full disk. A process started without mpirun is a world of one rank.
///
/// Errors: Failure E212 (exit 69) when MPI lacks MPI_THREAD_MULTIPLE.
class MpiSession {
public:
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  MpiSession(MpiSession&&) = delete;
  MpiSession& operator=(MpiSession&&) = delete;

  /// Finalizes MPI. Does nothing while an exception is unwinding the stack, because the other ranks
  /// may never call MPI_Finalize. After that, the caller has to call abort_world().
  /// Ranks:  collective (MPI_Finalize), after all groups have been destroyed.
  ~MpiSession();

private:
  int exceptions_at_birth_ = std::uncaught_exceptions();
};

/// Ends all ranks now with this exit code, for a failure that only this rank knows. If MPI is not
/// running, ends only this process. After a failure that all ranks know (CollectiveFailure), return
/// from main instead.
[[noreturn]] void abort_world(ExitCode code) noexcept;

}  // namespace mgpu::cluster
