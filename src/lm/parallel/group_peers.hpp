#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/ordered_broadcast.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>

#include "async_sender.hpp"
#include "stage_clock.hpp"

namespace mgpu::lm {

/// Communication between the ranks of a group that holds one model (see ShardPeers).
///
/// Ranks:  construction and destruction are collective over the group.
class GroupPeers final : public ShardPeers {
public:
  struct ChannelOptions {
    cluster::Backend backend = cluster::Backend::mpi;
    Device device{};
    cluster::CommunicatorOptions options{};
  };

  GroupPeers(const cluster::Group& group, Split split, const ChannelOptions& channels);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(const at::Tensor& values) override;
  void throw_if_any_failed(const std::exception_ptr& failure) override;
  void receive_previous_stage(const at::Tensor& values) override;
  void send_next_stage(const at::Tensor& values) override;
  void begin_pass(std::vector<std::int64_t> sums) override;
  void participate_without_result(const at::Tensor& values) override;
  int all_reduce_max(int mine) override { return group_.all_reduce(mine, cluster::ReduceOp::max); }
  bool is_broadcast_root() const override { return broadcast_.is_root(); }
  void post_broadcast(std::string message) override;
  std::string receive_broadcast() override;
  int passes_in_flight() const override;

  StageClock& clock() { return clock_; }

private:
  void wait_for_writers(cluster::Communicator& communicator, const at::Tensor& values);

  cluster::Group group_;
  Split split_;
  int rank_;
  int size_;
  // The function wait_for_writers() records this event after all kernels that may still access a
  // tensor. The communication of the tensor waits for the event.
  cluster::Event written_;
  cluster::OrderedBroadcast broadcast_;
  std::vector<std::unique_ptr<cluster::Communicator>> channels_;
  // For throw_if_any_failed(). Set for tensor parallelism only.
  std::unique_ptr<cluster::Communicator> failure_channel_;
  std::int32_t has_failed_ = 0;        // 1 if any rank passed an exception to throw_if_any_failed()
  std::vector<std::int64_t> sums_;     // number of rows of each all-reduce of this pass
  std::size_t next_sum_ = 0;           // index in sums_ of this pass's next all-reduce
  bool has_received_ = false;          // true: the input of this pass has arrived
  bool has_sent_ = false;              // true: the output of this pass is queued
  std::optional<AsyncSender> sender_;  // sends to the next stage; nullopt: no next stage
  StageClock clock_;
};

}  // namespace mgpu::lm
