#pragma once

#include <string_view>

namespace mgpu {

/// What a failpoint asks of the durable call that it stands in front of.
struct FailpointAction {
  int error = 0;           // errno the call has to report instead of running; 0: run it
  bool half_only = false;  // a write stops half way, then reports `error`
};

/// A named place where a test makes the world go wrong: one branch on a null pointer otherwise.
///
/// The environment says what, as PLACE:N:ACTION[;...]: at the N-th arrival (from 1) at PLACE on
/// any rank, or only on rank R with PLACE@R. ACTION is kill, segv, abort, stop (SIGSTOP), sleep (1
/// s), spin (an endless loop), short, or an errno name (ENOSPC EDQUOT EIO EROFS ESTALE EMFILE).
/// MGPU_FAILPOINT_MARK names a file that is made then, for those who measure how long the rest
/// takes.
///
/// Errors: Error when MGPU_FAILPOINT is set without MGPU_TESTING=1, or cannot be read.
FailpointAction failpoint(std::string_view place);

/// Whether the environment names any, for places whose name costs something to make.
bool has_failpoints();

/// Which rank this process is, for PLACE@R. Call once after MPI_Init.
void set_failpoint_rank(int world_rank);

}  // namespace mgpu
