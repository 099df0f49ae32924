#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

#include "waiter.hpp"

namespace mgpu::cluster {

/// The communicator of backend mpi. It uses nonblocking MPI calls on host memory, because a
/// blocking collective cannot be abandoned when a peer is gone. Large all-reduces go around a ring
/// of ranks, see reduce_in_ring(). MPI_Iallreduce of Open MPI 4.1 has only half the bandwidth of
/// this ring, 2 GB/s instead of 4 GB/s for 2 ranks and 25 MiB. MPI_Allreduce is as fast as the
/// ring, but it blocks.
class MpiCommunicator final : public Communicator {
public:
  MpiCommunicator(const Group& group, const CommunicatorOptions& options);
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  MpiCommunicator(MpiCommunicator&&) = delete;
  MpiCommunicator& operator=(MpiCommunicator&&) = delete;
  ~MpiCommunicator() override;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return link_->group.rank(); }
  int size() const override { return link_->group.size(); }

  void all_reduce(BufferView values, ReduceOp op) override;
  void broadcast(BufferView values, int root) override;
  void exchange(BufferView mine, BufferView theirs, int peer) override;
  void send(BufferView values, int peer) override;
  void receive(BufferView values, int peer) override;
  void cancel() noexcept override { waiter_.cancel(); }
  bool is_dead() const noexcept { return waiter_.is_dead(); }

private:
  /// Memory that MPI reads and writes. If a call timed out or was canceled, MPI may still access
  /// this memory later. In that case, the destructor leaks it.
  struct Link {
    Group group;
    std::vector<std::byte> incoming;  // data from the previous rank of the ring
    std::vector<float> widened;       // a piece of 16-bit floats, converted to f32
    Call mine{CallKind::barrier};     // call of this rank
    Call theirs{CallKind::barrier};   // call of the peer; checked builds compare it with `mine`
  };
  struct Message {
    std::byte* out;
    std::size_t out_bytes;
    int to;
    std::byte* in;
    std::size_t in_bytes;
    int from;
  };

  void all_reduce_widened(BufferView values, ReduceOp op);
  void reduce_piece(BufferView piece, ReduceOp op);
  void reduce_in_ring(BufferView piece, ReduceOp op);
  void add_incoming(BufferView out, BufferView sum, ReduceOp op);
  void send_and_receive(const Message& message);
  void check_exchange(const Call& mine, int peer);
  void send_piece(const void* data, std::size_t bytes, int peer);
  void receive_piece(void* data, std::size_t bytes, int peer);
  void require_same(const Call& mine, int peer) const;

  CommunicatorOptions options_;
  std::unique_ptr<Link> link_;
  Waiter waiter_;
};

}  // namespace mgpu::cluster
