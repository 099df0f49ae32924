#pragma once

#include <string_view>

namespace mgpu {

/// The effect of a failpoint on the system call that it guards.
struct FailpointAction {
  int error = 0;           // errno to report instead of running the call; 0: run it
  bool half_only = false;  // a write stops half way, then reports `error`
};

/// Marks a place where a test can inject a fault. In a normal run it costs one branch on a null
/// pointer.
///
/// The variable MGPU_FAILPOINT holds PLACE:N:ACTION[;...]: it acts on the N-th arrival (from 1) at
/// PLACE, on any rank or with PLACE@R only on rank R. ACTION is kill, segv, abort, stop (SIGSTOP),
/// sleep (1 s), spin (an endless loop), short, or an errno name (ENOSPC EDQUOT EIO EROFS ESTALE
/// EMFILE). MGPU_FAILPOINT_MARK names a file that is created at that moment, so that a test can
/// measure the time from there.
///
/// Errors: Error when MGPU_FAILPOINT is set without MGPU_TESTING=1, or cannot be parsed.
FailpointAction failpoint(std::string_view place);

/// Returns whether the environment names any failpoint, for places whose name is costly to build.
bool has_failpoints();

/// Sets the rank of this process for PLACE@R. Call once after MPI_Init.
void set_failpoint_rank(int world_rank);

}  // namespace mgpu
