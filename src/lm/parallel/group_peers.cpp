#include "group_peers.hpp"

#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "lm/forward/batch_shares.hpp"

namespace mgpu::lm {
namespace {

int speaker_of(const cluster::Group& group, Split split) {
  return split == Split::pipeline ? group.size() - 1 : 0;
}

}  // namespace

GroupPeers::GroupPeers(const cluster::Group& group, Split split, const Wires& wires)
    : group_(group.duplicate()),
      split_(split),
      rank_(group.rank()),
      size_(group.size()),
      written_(wires.device),
      words_(group, speaker_of(group, split), wires.options.timeout_s) {
  // In a pipeline, a rank receives on one wire and sends on the other, from two threads.
  const int num_wires = split == Split::pipeline ? 2 : 1;
  for (int i = 0; i < num_wires; ++i)
    wires_.push_back(cluster::make_communicator(group, wires.backend, wires.device, wires.options));
  if (split == Split::tensor)
    agreements_ = cluster::make_communicator(group, cluster::Backend::mpi, {}, wires.options);
  const auto own = static_cast<std::size_t>(rank_ % 2);
  if (split == Split::pipeline && rank_ + 1 < size_)
    outbox_.emplace(*wires_[own], rank_ + 1, wires.device, kPassesInOutbox);
}

/// libtorch may reuse memory that pending kernels of its stream still access.
void GroupPeers::wait_for_writers(cluster::Communicator& communicator, const at::Tensor& values) {
  if (!values.is_cuda()) return;
  written_.record(tensor::current_stream(values));
  communicator.wait_for(written_.get());
}

void GroupPeers::sum(const at::Tensor& values) {
  const std::exception_ptr failure = cluster::failure_of([&] {
    wait_for_writers(*wires_[0], values);
    clock_.waiting([&] { wires_[0]->all_reduce(tensor::view_of(values), cluster::ReduceOp::sum); });
  });
  if (failure)
    throw cluster::LoneFailure(report_of(failure));  // the state of the other ranks is unknown
  if (next_sum_ < sums_.size()) ++next_sum_;
}

void GroupPeers::agree(const std::exception_ptr& failure) {
  has_failed_ = failure ? 1 : 0;
  clock_.waiting([&] {
    agreements_->all_reduce({&has_failed_, 1, DType::i32, {}}, cluster::ReduceOp::max);
  });
  if (has_failed_ == 0) return;
  cluster::run_together(group_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

void GroupPeers::receive(const at::Tensor& values) {
  cluster::Communicator& wire = *wires_[static_cast<std::size_t>((rank_ + 1) % 2)];
  wait_for_writers(wire, values);
  clock_.waiting([&] { wire.receive(tensor::view_of(values), rank_ - 1); });
  has_received_ = true;
}

void GroupPeers::pass_on(const at::Tensor& values) {
  clock_.end_pass();
  clock_.waiting([&] { outbox_->put(values); });
  has_passed_on_ = true;
}

void GroupPeers::begin_pass(std::vector<std::int64_t> sums) {
  sums_ = std::move(sums);
  next_sum_ = 0;
  has_received_ = false;
  has_passed_on_ = false;
}

void GroupPeers::skip(const at::Tensor& values) {
  while (next_sum_ < sums_.size()) {
    const at::Tensor zeros = values.narrow(0, 0, sums_[next_sum_]).zero_();
    sum(zeros);
  }
  if (split_ != Split::pipeline) return;
  if (rank_ > 0 && !has_received_) receive(at::empty_like(values));
  if (rank_ + 1 < size_ && !has_passed_on_) pass_on(values);
}

void GroupPeers::announce(std::string words) {
  clock_.end_pass();
  words_.post(std::move(words));
}

std::string GroupPeers::hear() {
  std::string words;
  clock_.waiting([&] { words = words_.hear(); });
  return words;
}

int GroupPeers::passes_in_flight() const {
  return static_cast<int>(batches_in_turn(split_, size_));
}

}  // namespace mgpu::lm
