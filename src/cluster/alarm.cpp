#include <mgpu/cluster/alarm.hpp>

namespace mgpu::cluster {
namespace {

constexpr int kTag = 911;

}  // namespace

Alarm::Alarm(const Group& group) : group_(group.duplicate()) {}

void Alarm::ring() {
  if (rung_) return;
  rung_ = true;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    // An empty message is always sent eagerly: freeing the request does not lose it.
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, kTag, group_.raw(), &request));
    mpi_check(MPI_Request_free(&request));
  }
}

bool Alarm::rang() {
  int waiting = 0;
  mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, kTag, group_.raw(), &waiting, MPI_STATUS_IGNORE));
  while (waiting != 0) {
    mpi_check(
        MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, kTag, group_.raw(), MPI_STATUS_IGNORE));
    heard_ = true;
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, kTag, group_.raw(), &waiting, MPI_STATUS_IGNORE));
  }
  return rung_ || heard_;
}

}  // namespace mgpu::cluster
