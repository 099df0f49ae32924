#pragma once

#include <string_view>

namespace mgpu {

/// The instruction to the caller of failpoint() for the system call that follows.
struct FailpointAction {
  int error = 0;           // errno to report instead of running the call; 0: run it
  bool half_only = false;  // true: write half of the bytes, then report `error`
};

/// Marks a place where a test can inject a fault. Without MGPU_FAILPOINT, a call costs one branch
/// on a null pointer.
///
/// The environment variable MGPU_FAILPOINT contains PLACE:N:ACTION[;...]. ACTION happens at the
/// N-th call of failpoint(PLACE) in a process, counted from 1. It happens on every rank; PLACE@R
/// restricts it to rank R. ACTION is kill, segv, abort, stop (SIGSTOP), sleep (1 s), spin (an
/// endless loop), short, or an errno name (ENOSPC EDQUOT EIO EROFS ESTALE EMFILE EINTR ENOMEM).
/// With short, a write stops half way and reports ENOSPC. MGPU_FAILPOINT_MARK names a file that is
/// created when ACTION happens, so that a test can measure the time since then.
///
/// Returns: what the caller has to do for an errno name or `short`; {} for the other actions, which
///         happen inside the call.
/// Errors: Error when MGPU_FAILPOINT is set without MGPU_TESTING=1, or cannot be parsed.
FailpointAction failpoint(std::string_view place);

/// Returns whether MGPU_FAILPOINT is set. Check this before a call to failpoint() whose argument is
/// costly to build.
/// Errors: those of failpoint().
bool has_failpoints();

/// Sets the rank of this process for PLACE@R. Call once after MPI_Init.
void set_failpoint_rank(int world_rank);

}  // namespace mgpu
