#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/group.hpp>

struct CUevent_st;

namespace mgpu::cluster {

/// Moves tensors between the ranks of a group. The backend is MPI on host memory, NCCL, or
/// `staged`: MPI on host copies of device memory.
///
/// Every call returns when this rank's part of the transfer has finished, so later work on any
/// stream sees the result. For CUDA buffers, the transfer starts after the events given to
/// wait_for(). If wait_for() is not called, the caller must ensure that no GPU work still writes
/// the buffers.
///
/// Only one thread at a time may use a communicator; it need not be the main thread
/// (MPI_THREAD_MULTIPLE). The communicator's messages never mix with those of the group from which
/// it was made.
///
/// Ranks:  all_reduce(), broadcast() and the destructor are collective over the group, in the same
///         order on all ranks. The calls exchange(), send() and receive() are between two ranks.
///         The other functions are local.
/// Errors: Failure E402 when a call takes longer than CommunicatorOptions::timeout_s; E403 when a
///         peer is lost or NCCL reports an asynchronous error. After one of these failures, every
///         later call of this communicator throws E403. In checked builds (MGPU_CHECKED=1),
///         ShapeError when a call differs between ranks in its kind, count, type, ReduceOp or root.
///         With backend nccl, this check covers only all_reduce() and broadcast().
class Communicator {
public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;
  virtual ~Communicator() = default;

  virtual std::string_view name() const = 0;  // "mpi", "nccl", "staged"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Reduces element by element, in place. Accepts every DType. The backend chooses the order of
  /// the sum; all ranks get the same bits.
  virtual void all_reduce(BufferView values, ReduceOp op) = 0;

  /// Copies the bytes of rank `root` to every rank, in place.
  virtual void broadcast(BufferView values, int root) = 0;

  /// Sends `mine` to rank `peer`, and receives the peer's `mine` into `theirs`. The peer has to
  /// call exchange() too, with the same number of bytes.
  /// Errors: ShapeError when `mine` and `theirs` differ in bytes.
  virtual void exchange(BufferView mine, BufferView theirs, int peer) = 0;

  /// Sends `values` to rank `peer`, which must call receive() with the same number of bytes.
  /// Returns when the caller may overwrite the buffer. This may be only after the peer has called
  /// receive().
  virtual void send(BufferView values, int peer) = 0;
  /// Fills `values` with the bytes that rank `peer` sends by send().
  virtual void receive(BufferView values, int peer) = 0;

  /// Makes the next transfer wait on the device for event `produced` (see Event in
  /// device_work.hpp), without blocking the caller. The thread that fills the buffer of this
  /// transfer must already have recorded the event.
  /// Memory: the event has to live until the transfer's call returns.
  virtual void wait_for(CUevent_st* produced) { static_cast<void>(produced); }

  /// Makes a running call and all later calls throw E403 soon, even if no peer joins them. Any
  /// thread may call it. MPI may write to the buffers of the running call until the process ends.
  virtual void cancel() noexcept {}
};

enum class Backend { mpi, nccl, staged };
std::string_view name_of(Backend backend);

struct CommunicatorOptions {
  double timeout_s = 300.0;                         // deadline of each call
  std::size_t piece_bytes = std::size_t{64} << 20;  // largest size of one message
};

/// Makes a communicator over the ranks of `group`, for buffers on `device`.
///
/// Ranks:  collective over `group`. The caller may still use `group` for other calls.
/// Errors: in a build without CUDA, NotBuiltError for nccl, and for staged with a CUDA device.
///         Failure E402 when NCCL does not start within the deadline; E403 with NCCL's text when
///         NCCL reports an error.
std::unique_ptr<Communicator> make_communicator(const Group& group, Backend backend, Device device,
                                                const CommunicatorOptions& options = {});

}  // namespace mgpu::cluster
