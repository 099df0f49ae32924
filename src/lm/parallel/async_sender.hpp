#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include <ATen/core/Tensor.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>

namespace mgpu::lm {

/// Sends tensors to one other rank from a separate thread, so that the caller of put() need not
/// wait until the other rank receives the tensor.
class AsyncSender {
public:
  /// Starts the thread. Other code must not use the communicator while this object exists. The
  /// queue holds at most `capacity` tensors.
  AsyncSender(cluster::Communicator& communicator, int peer, Device device, std::size_t capacity);
  AsyncSender(const AsyncSender&) = delete;
  AsyncSender& operator=(const AsyncSender&) = delete;

  /// Sends all queued tensors, and ends the thread. If an exception is unwinding the stack, the
  /// destructor first cancels the communicator, so that pending sends fail soon. The other rank
  /// does not learn of the failure in this way.
  ~AsyncSender();

  /// Queues a tensor; waits while the queue is full. The caller must not change the tensor
  /// afterwards. Errors: the exception of an earlier send that failed.
  void put(const at::Tensor& values);

private:
  struct PendingSend {
    at::Tensor values;
    cluster::Event filled;  // on a GPU: recorded after the kernels that compute the values
  };

  void work();
  void send(const PendingSend& pending);

  cluster::Communicator& communicator_;
  int peer_;
  Device device_;
  std::size_t capacity_;
  int exceptions_at_birth_ = std::uncaught_exceptions();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingSend> pending_;
  bool is_ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // the last member, because the thread uses the others
};

}  // namespace mgpu::lm
