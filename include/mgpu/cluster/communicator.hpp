#pragma once

#include <memory>
#include <string_view>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// How the ranks of a group move tensors: MPI on host memory, NCCL, or staged through the host.
///
/// Every call returns when the data is there (for CUDA buffers: when the work that produced the
/// buffer on the caller's stream was waited for by the implementation, the transfer has finished,
/// and later work of any stream sees the result). One thread at a time; the thread may be another
/// one than the main thread, MPI is initialised with MPI_THREAD_MULTIPLE.
///
/// Ranks:  each call is collective over the group, in the same order on all ranks; `exchange`
///         is between two ranks.
/// Errors: Failure E4xx when a peer is lost, a deadline (comm.timeout_s) has passed or NCCL
///         reports an asynchronous error; checked builds: ShapeError when kind, count or type
///         differ between ranks.
class Communicator {
public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual std::string_view name() const = 0;  // "mpi", "nccl", "staged"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// In place, element by element; f32 f64 f16 bf16 i32 i64. The order of the sum is the library's.
  virtual void all_reduce(BufferView values, ReduceOp op) = 0;

  /// The root's bytes on every rank.
  virtual void broadcast(BufferView values, int root) = 0;

  /// Sends `mine` to `peer` and receives as many bytes from it into `theirs`; both ranks call.
  virtual void exchange(BufferView mine, BufferView theirs, int peer) = 0;
};

}  // namespace mgpu::cluster
