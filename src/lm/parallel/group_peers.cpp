#include "group_peers.hpp"

#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "lm/forward/batch_shares.hpp"

namespace mgpu::lm {
namespace {

int broadcast_root(const cluster::Group& group, Split split) {
  return split == Split::pipeline ? group.size() - 1 : 0;
}

}  // namespace

GroupPeers::GroupPeers(const cluster::Group& group, Split split, const ChannelOptions& channels)
    : group_(group.duplicate()),
      split_(split),
      rank_(group.rank()),
      size_(group.size()),
      written_(channels.device),
      broadcast_(group, broadcast_root(group, split), channels.options.timeout_s) {
  // A pipeline has two channels. One thread of a rank receives on one channel, while another
  // thread, that of AsyncSender, sends on the other channel.
  const int num_channels = split == Split::pipeline ? 2 : 1;
  for (int i = 0; i < num_channels; ++i)
    channels_.push_back(
        cluster::make_communicator(group, channels.backend, channels.device, channels.options));
  if (split == Split::tensor)
    failure_channel_ =
        cluster::make_communicator(group, cluster::Backend::mpi, {}, channels.options);
  const auto own = static_cast<std::size_t>(rank_ % 2);
  if (split == Split::pipeline && rank_ + 1 < size_)
    sender_.emplace(*channels_[own], rank_ + 1, channels.device, kPassesInSender);
}

/// Makes the communicator wait for the kernels that are pending on libtorch's stream, because these
/// kernels may still access the memory of `values`. Does nothing on the CPU.
void GroupPeers::wait_for_writers(cluster::Communicator& communicator, const at::Tensor& values) {
  if (!values.is_cuda()) return;
  written_.record(tensor::current_stream(values));
  communicator.wait_for(written_.get());
}

void GroupPeers::all_reduce(const at::Tensor& values) {
  const std::exception_ptr failure = cluster::failure_of([&] {
    wait_for_writers(*channels_[0], values);
    clock_.waiting(
        [&] { channels_[0]->all_reduce(tensor::view_of(values), cluster::ReduceOp::sum); });
  });
  if (failure)
    throw cluster::DivergedFailure(report_of(failure));  // the state of the other ranks is unknown
  if (next_sum_ < sums_.size()) ++next_sum_;
}

void GroupPeers::throw_if_any_failed(const std::exception_ptr& failure) {
  has_failed_ = failure ? 1 : 0;
  clock_.waiting([&] {
    failure_channel_->all_reduce({&has_failed_, 1, DType::i32, {}}, cluster::ReduceOp::max);
  });
  if (has_failed_ == 0) return;
  cluster::run_together(group_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

void GroupPeers::receive_previous_stage(const at::Tensor& values) {
  cluster::Communicator& channel = *channels_[static_cast<std::size_t>((rank_ + 1) % 2)];
  wait_for_writers(channel, values);
  clock_.waiting([&] { channel.receive(tensor::view_of(values), rank_ - 1); });
  has_received_ = true;
}

void GroupPeers::send_next_stage(const at::Tensor& values) {
  clock_.end_pass();
  clock_.waiting([&] { sender_->put(values); });
  has_sent_ = true;
}

void GroupPeers::begin_pass(std::vector<std::int64_t> sums) {
  sums_ = std::move(sums);
  next_sum_ = 0;
  has_received_ = false;
  has_sent_ = false;
}

void GroupPeers::participate_without_result(const at::Tensor& values) {
  while (next_sum_ < sums_.size()) {
    const at::Tensor zeros = values.narrow(0, 0, sums_[next_sum_]).zero_();
    all_reduce(zeros);
  }
  if (split_ != Split::pipeline) return;
  if (rank_ > 0 && !has_received_) receive_previous_stage(at::empty_like(values));
  if (rank_ + 1 < size_ && !has_sent_) send_next_stage(values);
}

void GroupPeers::post_broadcast(std::string message) {
  clock_.end_pass();
  broadcast_.post(std::move(message));
}

std::string GroupPeers::receive_broadcast() {
  std::string message;
  clock_.waiting([&] { message = broadcast_.receive(); });
  return message;
}

int GroupPeers::passes_in_flight() const {
  return static_cast<int>(batches_in_turn(split_, size_));
}

}  // namespace mgpu::lm
