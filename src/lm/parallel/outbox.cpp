#include "outbox.hpp"

#include <utility>

#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::lm {

Outbox::Outbox(cluster::Communicator& communicator, int peer, Device device, std::size_t places)
    : communicator_(communicator), peer_(peer), device_(device), places_(places) {
  thread_ = std::thread([this] { work(); });
}

Outbox::~Outbox() {
  if (std::uncaught_exceptions() > exceptions_at_birth_) communicator_.cancel();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Outbox::put(const at::Tensor& values) {
  Parcel parcel{values, cluster::Event(device_)};
  if (values.is_cuda()) parcel.filled.record(tensor::current_stream(values));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || parcels_.size() < places_; });
  if (failure_) std::rethrow_exception(failure_);
  parcels_.push_back(std::move(parcel));
  lock.unlock();
  changed_.notify_all();
}

void Outbox::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !parcels_.empty(); });
    if (parcels_.empty()) return;
    const Parcel& parcel = parcels_.front();  // stays in the queue until it is sent
    lock.unlock();
    std::exception_ptr failure;
    try {
      send(parcel);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    parcels_.pop_front();
    if (failure) {
      failure_ = failure;
      parcels_.clear();
    }
    changed_.notify_all();
    if (failure) return;
  }
}

void Outbox::send(const Parcel& parcel) {
  if (parcel.values.is_cuda()) communicator_.wait_for(parcel.filled.get());
  communicator_.send(tensor::view_of(parcel.values), peer_);
}

}  // namespace mgpu::lm
