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

/// Sends tensors to one rank from a separate thread, so that the caller can continue while that
/// rank is busy.
class AsyncSender {
public:
  /// Starts the thread. The sender has exclusive use of the communicator. At most `capacity`
  /// tensors are queued.
  AsyncSender(cluster::Communicator& communicator, int peer, Device device, std::size_t capacity);
  AsyncSender(const AsyncSender&) = delete;
  AsyncSender& operator=(const AsyncSender&) = delete;

  /// Sends all queued tensors, and ends the thread. If an exception is unwinding the stack, it
  /// cancels the communicator first, so that pending sends fail soon. The peer must learn of the
  /// failure in another way.
  ~AsyncSender();

  /// Queues a tensor; waits while the queue is full. Errors: the exception that an earlier send has
  /// thrown.
  void put(const at::Tensor& values);

private:
  struct PendingSend {
    at::Tensor values;
    cluster::Event filled;  // recorded after the work that computes the values
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
