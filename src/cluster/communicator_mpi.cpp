#include "communicator_mpi.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <mgpu/base/half_float.hpp>

namespace mgpu::cluster {
namespace {

// For pieces of up to this size, MPI_Iallreduce is faster than reduce_in_ring(), in which each rank
// sends at least 2 (ranks - 1) messages.
constexpr std::size_t kSmallBytes = std::size_t{32} << 10;
// Size of the buffer that receives data from the previous rank of the ring, before they are reduced
// into the tensor. The buffer is small enough to stay in cache.
constexpr std::size_t kIncomingBytes = std::size_t{1} << 20;
constexpr int kTensorTag = 1;

bool is_16_bit(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

void widen(BufferView from, float* into) {
  const auto* bits = static_cast<const std::uint16_t*>(from.data);
  std::transform(bits, bits + from.count, into, from.dtype == DType::f16 ? from_f16 : from_bf16);
}

void narrow(const float* from, BufferView into) {
  auto* bits = static_cast<std::uint16_t*>(into.data);
  std::transform(from, from + into.count, bits, into.dtype == DType::f16 ? to_f16 : to_bf16);
}

void require_host(BufferView values) {
  if (values.device.kind != DeviceKind::cpu) throw Error("backend mpi moves host memory only");
}

Call call_of(CallKind kind, BufferView values, int detail) {
  return {kind, static_cast<std::int64_t>(values.count), static_cast<std::int64_t>(values.dtype),
          detail};
}

/// Returns a view of the elements [begin, begin + count). Elements after the end of `values` are
/// left out, so the view may be shorter or empty.
BufferView part_of(BufferView values, std::size_t begin, std::size_t count) {
  const std::size_t first = std::min(begin, values.count);
  return slice(values, first, std::min(count, values.count - first));
}

template <class Step>
void in_pieces(std::size_t total, std::size_t piece, Step step) {
  for (std::size_t done = 0; done < total; done += piece)
    step(done, std::min(piece, total - done));
}

}  // namespace

MpiCommunicator::MpiCommunicator(const Group& group, const CommunicatorOptions& options)
    : options_(options),
      link_(new Link{group.duplicate(), {}, {}, {CallKind::barrier}, {CallKind::barrier}}),
      waiter_(link_->group, options.timeout_s) {
  options_.piece_bytes = std::clamp<std::size_t>(options.piece_bytes, 8, Group::kMaxCount);
  link_->incoming.resize(kIncomingBytes);
}

MpiCommunicator::~MpiCommunicator() {
  // MPI may still write to this memory if a call was abandoned, so the memory is leaked.
  if (waiter_.is_dead()) static_cast<void>(link_.release());
}

void MpiCommunicator::all_reduce(BufferView values, ReduceOp op) {
  require_host(values);
  const Call call = call_of(CallKind::all_reduce, values, static_cast<int>(op));
  const auto inside = waiter_.begin(call);
  check_call(link_->group, call, waiter_);
  if (size() == 1) return;
  if (is_16_bit(values.dtype)) return all_reduce_widened(values, op);
  in_pieces(values.count, options_.piece_bytes / size_of(values.dtype),
            [&](std::size_t begin, std::size_t n) { reduce_piece(slice(values, begin, n), op); });
}

void MpiCommunicator::all_reduce_widened(BufferView values, ReduceOp op) {
  // The values are reduced in f32, because MPI 3.1 has no 16-bit floats. The result is rounded to
  // 16 bits only once, at the end.
  std::vector<float>& floats = link_->widened;
  in_pieces(values.count, options_.piece_bytes / sizeof(float),
            [&](std::size_t begin, std::size_t n) {
              floats.resize(std::max(floats.size(), n));
              widen(slice(values, begin, n), floats.data());
              reduce_piece({floats.data(), n, DType::f32, {}}, op);
              narrow(floats.data(), slice(values, begin, n));
            });
}

void MpiCommunicator::reduce_piece(BufferView piece, ReduceOp op) {
  if (piece.bytes() > kSmallBytes && std::cmp_greater_equal(piece.count, size())) {
    return reduce_in_ring(piece, op);
  }
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Iallreduce(MPI_IN_PLACE, piece.data, static_cast<int>(piece.count),
                           mpi_type_of(piece.dtype), mpi_op(op), link_->group.raw(), &request));
  waiter_.until_all({&request, 1});
}

// The piece has one segment for each of the p ranks. Each segment travels once around the ring to
// be summed, and once more to be distributed, so each rank sends 2 (p - 1) / p of the piece. The
// order of the sum depends on the segment only, so all ranks get the same bits.
// Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009), 3.
void MpiCommunicator::reduce_in_ring(BufferView piece, ReduceOp op) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto own = static_cast<std::size_t>(rank());
  const auto segment = [&](std::size_t index) {
    const std::size_t i = index % ranks;
    const std::size_t begin = piece.count * i / ranks;
    return slice(piece, begin, piece.count * (i + 1) / ranks - begin);
  };
  const int next = (rank() + 1) % size();
  const int previous = (rank() + size() - 1) % size();

  for (std::size_t step = 0; step + 1 < ranks; ++step) {
    const BufferView out = segment(own + ranks - step);
    const BufferView sum = segment(own + ranks - step - 1);
    // Segments may differ in length by one element. So `out` and `sum` may need different numbers
    // of messages.
    const std::size_t at_once = kIncomingBytes / size_of(piece.dtype);
    for (std::size_t begin = 0; begin < std::max(out.count, sum.count); begin += at_once)
      add_incoming(part_of(out, begin, at_once), part_of(sum, begin, at_once), op);
  }
  for (std::size_t step = 0; step + 1 < ranks; ++step) {
    const BufferView out = segment(own + 1 + ranks - step);
    const BufferView in = segment(own + ranks - step);
    send_and_receive({static_cast<std::byte*>(out.data), out.bytes(), next,
                      static_cast<std::byte*>(in.data), in.bytes(), previous});
  }
}

/// Sends `out` to the next rank of the ring. Receives sum.count elements from the previous rank,
/// and reduces them into `sum` by `op`.
void MpiCommunicator::add_incoming(BufferView out, BufferView sum, ReduceOp op) {
  std::byte* incoming = link_->incoming.data();
  send_and_receive({static_cast<std::byte*>(out.data), out.bytes(),
                    out.count == 0 ? MPI_PROC_NULL : (rank() + 1) % size(), incoming, sum.bytes(),
                    sum.count == 0 ? MPI_PROC_NULL : (rank() + size() - 1) % size()});
  if (sum.count == 0) return;
  mpi_check(MPI_Reduce_local(incoming, sum.data, static_cast<int>(sum.count),
                             mpi_type_of(sum.dtype), mpi_op(op)));
}

void MpiCommunicator::send_and_receive(const Message& message) {
  const MPI_Comm comm = link_->group.raw();
  std::array<MPI_Request, 2> requests{};
  mpi_check(MPI_Irecv(message.in, static_cast<int>(message.in_bytes), MPI_BYTE, message.from,
                      kTensorTag, comm, requests.data()));
  mpi_check(MPI_Isend(message.out, static_cast<int>(message.out_bytes), MPI_BYTE, message.to,
                      kTensorTag, comm, &requests[1]));
  waiter_.until_all(requests);
}

void MpiCommunicator::broadcast(BufferView values, int root) {
  require_host(values);
  const Call call = call_of(CallKind::broadcast, values, root);
  const auto inside = waiter_.begin(call);
  check_call(link_->group, call, waiter_);
  auto* bytes = static_cast<std::byte*>(values.data);
  in_pieces(values.bytes(), options_.piece_bytes, [&](std::size_t begin, std::size_t n) {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibcast(bytes + begin, static_cast<int>(n), MPI_BYTE, root, link_->group.raw(),
                         &request));
    waiter_.until_all({&request, 1});
  });
}

void MpiCommunicator::check_exchange(const Call& mine, int peer) {
  if constexpr (!kChecked) return;
  link_->mine = mine;
  send_and_receive({reinterpret_cast<std::byte*>(&link_->mine), sizeof(Call), peer,
                    reinterpret_cast<std::byte*>(&link_->theirs), sizeof(Call), peer});
  require_same(mine, peer);
}

void MpiCommunicator::require_same(const Call& mine, int peer) const {
  if (link_->theirs == mine) return;
  throw ShapeError("rank " + std::to_string(rank()) + " calls " + describe(mine) + ", rank " +
                   std::to_string(peer) + " calls " + describe(link_->theirs));
}

void MpiCommunicator::exchange(BufferView mine, BufferView theirs, int peer) {
  require_host(mine);
  require_host(theirs);
  if (mine.bytes() != theirs.bytes()) throw ShapeError("exchange of different sizes");
  const Call call = call_of(CallKind::exchange, mine, 0);
  const auto inside = waiter_.begin(call, peer);
  check_exchange(call, peer);
  auto* out = static_cast<std::byte*>(mine.data);
  auto* in = static_cast<std::byte*>(theirs.data);
  in_pieces(mine.bytes(), options_.piece_bytes, [&](std::size_t begin, std::size_t n) {
    send_and_receive({out + begin, n, peer, in + begin, n, peer});
  });
}

void MpiCommunicator::send_piece(const void* data, std::size_t bytes, int peer) {
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, kTensorTag, link_->group.raw(),
                      &request));
  waiter_.until_all({&request, 1});
}

void MpiCommunicator::receive_piece(void* data, std::size_t bytes, int peer) {
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, kTensorTag, link_->group.raw(),
                      &request));
  waiter_.until_all({&request, 1});
}

void MpiCommunicator::send(BufferView values, int peer) {
  require_host(values);
  const auto inside = waiter_.begin(link_->mine = call_of(CallKind::send_receive, values, 0), peer);
  if constexpr (kChecked) send_piece(&link_->mine, sizeof(Call), peer);
  const auto* bytes = static_cast<const std::byte*>(values.data);
  in_pieces(values.bytes(), options_.piece_bytes,
            [&](std::size_t begin, std::size_t n) { send_piece(bytes + begin, n, peer); });
}

void MpiCommunicator::receive(BufferView values, int peer) {
  require_host(values);
  const Call call = call_of(CallKind::send_receive, values, 0);
  const auto inside = waiter_.begin(call, peer);
  if constexpr (kChecked) {
    receive_piece(&link_->theirs, sizeof(Call), peer);
    require_same(call, peer);
  }
  auto* bytes = static_cast<std::byte*>(values.data);
  in_pieces(values.bytes(), options_.piece_bytes,
            [&](std::size_t begin, std::size_t n) { receive_piece(bytes + begin, n, peer); });
}

}  // namespace mgpu::cluster
