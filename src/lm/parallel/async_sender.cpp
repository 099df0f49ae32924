#include "async_sender.hpp"

#include <utility>

#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::lm {

AsyncSender::AsyncSender(cluster::Communicator& communicator, int peer, Device device,
                         std::size_t capacity)
    : communicator_(communicator), peer_(peer), device_(device), capacity_(capacity) {
  thread_ = std::thread([this] { work(); });
}

AsyncSender::~AsyncSender() {
  if (std::uncaught_exceptions() > exceptions_at_birth_) communicator_.cancel();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void AsyncSender::put(const at::Tensor& values) {
  PendingSend pending{values, cluster::Event(device_)};
  if (values.is_cuda()) pending.filled.record(tensor::current_stream(values));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || pending_.size() < capacity_; });
  if (failure_) std::rethrow_exception(failure_);
  pending_.push_back(std::move(pending));
  lock.unlock();
  changed_.notify_all();
}

void AsyncSender::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const PendingSend& pending = pending_.front();  // removed after it is sent
    lock.unlock();
    std::exception_ptr failure;
    try {
      send(pending);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    pending_.pop_front();
    if (failure) {
      failure_ = failure;
      pending_.clear();
    }
    changed_.notify_all();
    if (failure) return;
  }
}

void AsyncSender::send(const PendingSend& pending) {
  if (pending.values.is_cuda()) communicator_.wait_for(pending.filled.get());
  communicator_.send(tensor::view_of(pending.values), peer_);
}

}  // namespace mgpu::lm
