#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

namespace cudaemu {

/// A point in the work of a stream. It is reached when all earlier work is done.
class Marker {
public:
  void reach();
  bool is_reached() const;
  void wait() const;

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool is_reached_ = false;
};

/// The order in which work begins with CUDA_DEVICE_MAX_CONNECTIONS=1. With other values, next()
/// returns 0 and wait_for() returns at once.
class Turns {
public:
  static std::uint64_t next();
  static void wait_for(std::uint64_t turn);
};

/// A stream that the program has made. A separate thread runs the queued work in order.
class Worker : public std::enable_shared_from_this<Worker> {
public:
  static std::shared_ptr<Worker> start();

  void queue(std::function<void()> work);
  void wait();

  /// Lets the thread end after the work that is queued.
  void end();

private:
  struct Work {
    std::uint64_t turn;
    std::function<void()> run;
  };

  void loop();
  bool add(std::function<void()> work);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  bool is_ending_ = false;
  bool has_ended_ = false;
};

/// Queues work in a stream. If `stream` is null, device() queues the work.
void queue_in(cudaStream_t stream, std::function<void()> work);

/// Waits for the work of the null stream and of all other streams, including destroyed ones.
void wait_for_all();

/// Returns whether the stream belongs to the current device of this thread.
bool is_on_current_device(cudaStream_t stream);

}  // namespace cudaemu

struct CUstream_st {
  std::shared_ptr<cudaemu::Worker> worker;
  int device;
};

struct CUevent_st {
  std::shared_ptr<cudaemu::Marker> last;  // null before the first record
  int device;
};
