#pragma once

#include <memory>
#include <string_view>

#include <mgpu/cluster/device_work.hpp>

#include "communicator_mpi.hpp"

namespace mgpu::cluster {

/// The communicator of backend staged, for ranks that share a GPU. It moves device memory through
/// host memory (pinned for a CUDA device) and MPI. Each piece of a tensor goes to the host, through
/// MPI and to the device before the next piece starts.
class StagedCommunicator final : public Communicator {
public:
  StagedCommunicator(const Group& group, Device device, const CommunicatorOptions& options);
  StagedCommunicator(const StagedCommunicator&) = delete;
  StagedCommunicator& operator=(const StagedCommunicator&) = delete;
  StagedCommunicator(StagedCommunicator&&) = delete;
  StagedCommunicator& operator=(StagedCommunicator&&) = delete;
  ~StagedCommunicator() override;

  std::string_view name() const override { return "staged"; }
  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }

  void all_reduce(BufferView values, ReduceOp op) override;
  void broadcast(BufferView values, int root) override;
  void exchange(BufferView mine, BufferView theirs, int peer) override;
  void send(BufferView values, int peer) override;
  void receive(BufferView values, int peer) override;
  void wait_for(CUevent_st* produced) override;
  void cancel() noexcept override { host_.cancel(); }

private:
  /// Memory that MPI reads and writes. If a call timed out or was canceled, MPI may still access
  /// this memory later. In that case, the destructor leaks it.
  struct Buffers {
    Buffer outgoing;
    Buffer incoming;
  };

  BufferView copy_to_host(BufferView piece);
  void copy_to_device(BufferView from_host, BufferView piece);

  Device device_;
  MpiCommunicator host_;
  Stream stream_;
  Event copied_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace mgpu::cluster
