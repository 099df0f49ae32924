#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <ATen/core/Tensor.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

namespace mgpu::lm {

/// Sends tensors to one rank on a thread of its own: whoever puts one in goes on to the next while
/// the peer is still busy.
class Outbox {
public:
  /// The communicator is the outbox's until it ends. It holds at most `places` tensors.
  Outbox(cluster::Communicator& communicator, int peer, Device device, std::size_t places);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Sends what is left, unless an exception unwinds: then the peer is told by others.
  ~Outbox();

  /// Waits while all places are taken. Errors: what an earlier sending threw.
  void put(const at::Tensor& values);

private:
  struct Parcel {
    at::Tensor values;
    cluster::Event filled;  // behind the work that makes the values
  };

  void work();
  void send(const Parcel& parcel);

  cluster::Communicator& communicator_;
  int peer_;
  Device device_;
  std::size_t places_;
  int exceptions_at_birth_ = std::uncaught_exceptions();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Parcel> parcels_;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace mgpu::lm
