#include <mgpu/cluster/abort_flag.hpp>

namespace mgpu::cluster {
namespace {

constexpr int kAbortTag = 911;

}  // namespace

AbortFlag::AbortFlag(const Group& group) : group_(group.duplicate()) {}

void AbortFlag::raise() {
  if (has_raised_) return;
  has_raised_ = true;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    // An empty message is always sent eagerly, so it is not lost when its request is freed.
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, kAbortTag, group_.raw(), &request));
    mpi_check(MPI_Request_free(&request));
  }
}

bool AbortFlag::is_raised() {
  int waiting = 0;
  mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, kAbortTag, group_.raw(), &waiting, MPI_STATUS_IGNORE));
  while (waiting != 0) {
    mpi_check(
        MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, kAbortTag, group_.raw(), MPI_STATUS_IGNORE));
    has_seen_ = true;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, kAbortTag, group_.raw(), &waiting, MPI_STATUS_IGNORE));
  }
  return has_raised_ || has_seen_;
}

}  // namespace mgpu::cluster
