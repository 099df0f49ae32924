#include "communicator_nccl.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include <nccl.h>

#include <mgpu/cluster/abort_flag.hpp>
#include <mgpu/cluster/device_work.hpp>

#include "waiter.hpp"

namespace mgpu::cluster {
namespace {

/// The longest wait for ncclCommDestroy or ncclCommAbort, which may hang.
constexpr std::chrono::seconds kEndPatience(5);
/// The longest time that this rank waits after a peer's failure. Meanwhile, the peer prints its
/// error and ends all ranks. The launcher mpirun takes two seconds to kill the ranks.
constexpr double kPeerPatienceS = 5.0;

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    case DType::u8:
      return ncclUint8;
    case DType::u32:
      return ncclUint32;
    case DType::u64:
      return ncclUint64;
  }
  throw Error("unknown DType");
}

ncclRedOp_t nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return ncclSum;
    case ReduceOp::min:
      return ncclMin;
    case ReduceOp::max:
      return ncclMax;
  }
  throw Error("unknown ReduceOp");
}

/// Calls NCCL on a separate stream and never blocks inside NCCL or CUDA. A lost peer shows up as an
/// asynchronous error or a missed deadline. In both cases, ncclCommAbort stops the kernels that
/// wait for the peer.
class NcclCommunicator final : public Communicator {
public:
  NcclCommunicator(const Group& group, Device device, const CommunicatorOptions& options);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  NcclCommunicator(NcclCommunicator&&) = delete;
  NcclCommunicator& operator=(NcclCommunicator&&) = delete;
  ~NcclCommunicator() override;

  std::string_view name() const override { return "nccl"; }
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }

  void all_reduce(BufferView values, ReduceOp op) override;
  void broadcast(BufferView values, int root) override;
  void exchange(BufferView mine, BufferView theirs, int peer) override;
  void send(BufferView values, int peer) override;
  void receive(BufferView values, int peer) override;
  void wait_for(CUevent_st* produced) override;
  void cancel() noexcept override { waiter_.cancel(); }

private:
  void connect();
  void throw_if_any_failed(const std::exception_ptr& failure);
  void until_connected(const ncclUniqueId& id, AbortFlag& failed);
  Call on_device(CallKind kind, BufferView values, int detail) const;
  void finish(ncclResult_t issued);
  void until_issued(ncclResult_t issued);
  void require(ncclResult_t code);
  void wait_for_peer() const;
  bool is_in_progress();
  bool end_communicator(ncclResult_t (*end)(ncclComm_t)) noexcept;
  void abort_communicator() noexcept;

  /// Runs `step`; if it fails, aborts the communicator, so that no kernel keeps waiting for a peer.
  /// Later calls fail as well.
  template <class Step>
  void or_abort(Step step) {
    try {
      step();
    } catch (...) {
      waiter_.close();
      abort_communicator();
      throw;
    }
  }

  Device device_;
  Group group_;
  double timeout_s_;
  Waiter waiter_;
  Stream stream_;
  Event finished_;
  ncclComm_t comm_ = nullptr;
  int exceptions_at_birth_ = std::uncaught_exceptions();
};

NcclCommunicator::NcclCommunicator(const Group& group, Device device,
                                   const CommunicatorOptions& options)
    : device_(device),
      group_(group.duplicate()),
      timeout_s_(options.timeout_s),
      waiter_(group_, options.timeout_s),
      stream_(device),
      finished_(device) {
  or_abort([this] { connect(); });
}

void NcclCommunicator::connect() {
  const auto inside = waiter_.begin({CallKind::connect});
  ncclUniqueId id{};
  run_together(group_, [&] {
    if (rank() == 0) require(ncclGetUniqueId(&id));
  });
  group_.broadcast(std::span(reinterpret_cast<std::uint8_t*>(id.internal), sizeof(id.internal)), 0);

  AbortFlag failed(group_);
  std::exception_ptr failure;
  try {
    until_connected(id, failed);
  } catch (...) {
    failed.raise();
    failure = std::current_exception();
  }
  throw_if_any_failed(failure);
}

/// Throws on all ranks if at least one rank has a `failure`. Waits until all ranks call this
/// function, but at most `timeout_s_` seconds, because a rank may hang in NCCL.
void NcclCommunicator::throw_if_any_failed(const std::exception_ptr& failure) {
  Waiter waiter(group_, timeout_s_);
  const auto inside = waiter.begin({CallKind::connect});
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Ibarrier(group_.raw(), &request));
  try {
    waiter.until_all({&request, 1});
  } catch (const TimeoutError&) {
    if (failure) throw DivergedFailure(report_of(failure));  // reports the cause, not the timeout
    throw;
  }
  run_together(group_, [&] {
    if (failure) throw Failure(report_of(failure));
  });
}

/// Starts NCCL on this rank. Waits until NCCL has started, or until another rank has raised
/// `failed`.
void NcclCommunicator::until_connected(const ncclUniqueId& id, AbortFlag& failed) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  use_device(device_);
  require(ncclCommInitRankConfig(&comm_, size(), id, rank(), &config));
  waiter_.until([&] { return failed.is_raised() || !is_in_progress(); });
}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr) return;
  // Both ncclCommFinalize and ncclCommDestroy wait until the peers call them, too. While an
  // exception unwinds the stack, this rank skips both, because its peers may never make these
  // calls.
  if (std::uncaught_exceptions() > exceptions_at_birth_) return;
  if (waiter_.is_canceled()) {
    abort_communicator();
    return;
  }
  try {
    const auto inside = waiter_.begin({CallKind::disconnect});
    use_device(device_);
    until_issued(ncclCommFinalize(comm_));
    end_communicator(ncclCommDestroy);
  } catch (const std::exception&) {
    abort_communicator();
  }
}

/// Calls `end`, which ends the communicator and can hang, on a separate thread. A thread that hangs
/// is left alone until the process ends. Returns whether `end` has returned within kEndPatience.
bool NcclCommunicator::end_communicator(ncclResult_t (*end)(ncclComm_t)) noexcept {
  try {
    auto ended = std::make_shared<std::promise<void>>();
    const std::future<void> is_done = ended->get_future();
    std::thread([ended, end, comm = std::exchange(comm_, nullptr)] {
      end(comm);
      ended->set_value();
    }).detach();
    return is_done.wait_for(kEndPatience) == std::future_status::ready;
  } catch (const std::exception&) {
    comm_ = nullptr;  // no thread could start: the communicator ends with the process
    return false;
  }
}

/// Aborts the communicator and stops its kernels. If the abort does not finish in time, no device
/// memory is freed any more, because freeing would wait for these kernels.
void NcclCommunicator::abort_communicator() noexcept {
  if (comm_ != nullptr && !end_communicator(ncclCommAbort)) keep_device_memory();
}

/// Waits before this rank reports the failure of a peer. Meanwhile, the peer can print its message,
/// which names the cause.
void NcclCommunicator::wait_for_peer() const {
  const std::chrono::duration<double> patience(std::min(kPeerPatienceS, timeout_s_));
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!waiter_.is_canceled() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void NcclCommunicator::require(ncclResult_t code) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  if (code == ncclRemoteError) wait_for_peer();
  waiter_.die(std::string("failed: NCCL says ") + ncclGetErrorString(code) + ": " +
              ncclGetLastError(comm_));
}

bool NcclCommunicator::is_in_progress() {
  ncclResult_t state = ncclSuccess;
  require(ncclCommGetAsyncError(comm_, &state));
  require(state);
  return state == ncclInProgress;
}

void NcclCommunicator::until_issued(ncclResult_t issued) {
  require(issued);
  waiter_.until([this] { return !is_in_progress(); });
}

/// Makes this rank's GPU current on this thread. Returns the Call that describes the arguments.
/// Errors: Error if `values` is not on this rank's GPU.
Call NcclCommunicator::on_device(CallKind kind, BufferView values, int detail) const {
  if (values.device != device_) throw Error("backend nccl only moves memory of this rank's GPU");
  use_device(device_);
  return {kind, static_cast<std::int64_t>(values.count), static_cast<std::int64_t>(values.dtype),
          detail};
}

void NcclCommunicator::finish(ncclResult_t issued) {
  until_issued(issued);  // before NCCL has issued the call, nothing may be enqueued on the stream
  finished_.record(stream_.get());
  waiter_.until([this] {
    is_in_progress();  // throws for an asynchronous error
    return finished_.has_happened();
  });
}

void NcclCommunicator::all_reduce(BufferView values, ReduceOp op) {
  const Call call = on_device(CallKind::all_reduce, values, static_cast<int>(op));
  const auto inside = waiter_.begin(call);
  check_call(group_, call, waiter_);
  or_abort([&] {
    finish(ncclAllReduce(values.data, values.data, values.count, nccl_type(values.dtype),
                         nccl_op(op), comm_, stream_.get()));
  });
}

void NcclCommunicator::broadcast(BufferView values, int root) {
  const Call call = on_device(CallKind::broadcast, values, root);
  const auto inside = waiter_.begin(call);
  check_call(group_, call, waiter_);
  or_abort([&] {
    finish(ncclBroadcast(values.data, values.data, values.bytes(), ncclUint8, root, comm_,
                         stream_.get()));
  });
}

void NcclCommunicator::exchange(BufferView mine, BufferView theirs, int peer) {
  if (mine.bytes() != theirs.bytes()) throw ShapeError("exchange of different sizes");
  const auto inside = waiter_.begin(on_device(CallKind::exchange, mine, 0), peer);
  or_abort([&] {
    // One NCCL group contains ncclSend and ncclRecv, so that both ranks send and receive at the
    // same time. The NCCL group is ended even if ncclSend or ncclRecv fails.
    require(ncclGroupStart());
    const ncclResult_t sent =
        ncclSend(mine.data, mine.bytes(), ncclUint8, peer, comm_, stream_.get());
    const ncclResult_t received =
        ncclRecv(theirs.data, theirs.bytes(), ncclUint8, peer, comm_, stream_.get());
    const ncclResult_t ended = ncclGroupEnd();
    require(sent);
    require(received);
    finish(ended);
  });
}

void NcclCommunicator::send(BufferView values, int peer) {
  const auto inside = waiter_.begin(on_device(CallKind::send_receive, values, 0), peer);
  or_abort([&] {
    finish(ncclSend(values.data, values.bytes(), ncclUint8, peer, comm_, stream_.get()));
  });
}

void NcclCommunicator::receive(BufferView values, int peer) {
  const auto inside = waiter_.begin(on_device(CallKind::send_receive, values, 0), peer);
  or_abort([&] {
    finish(ncclRecv(values.data, values.bytes(), ncclUint8, peer, comm_, stream_.get()));
  });
}

void NcclCommunicator::wait_for(CUevent_st* produced) {
  stream_.wait_for(produced);
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(const Group& group, Device device,
                                                     const CommunicatorOptions& options) {
  return std::make_unique<NcclCommunicator>(group, device, options);
}

}  // namespace mgpu::cluster
