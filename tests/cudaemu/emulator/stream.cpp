#include "stream.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "device.hpp"
#include "settings.hpp"

namespace cudaemu {
namespace {

/// The workers whose threads have not ended.
struct Workers {
  std::mutex mutex;
  std::vector<std::weak_ptr<Worker>> all;
};

// Never destroyed, because threads of streams may outlive main().
Workers& workers() {
  static auto* the_workers = new Workers;
  return *the_workers;
}

struct Begun {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t next = 0;   // turn of the work that is queued next
  std::uint64_t begun = 0;  // number of turns that have begun
};

Begun& begun() {
  static auto* the_begun = new Begun;
  return *the_begun;
}

}  // namespace

void Marker::reach() {
  const std::lock_guard lock(mutex_);
  is_reached_ = true;
  changed_.notify_all();
}

bool Marker::is_reached() const {
  const std::lock_guard lock(mutex_);
  return is_reached_;
}

void Marker::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_reached_; });
}

std::uint64_t Turns::next() {
  if (!settings().one_connection) return 0;
  const std::lock_guard lock(begun().mutex);
  return begun().next++;
}

void Turns::wait_for(std::uint64_t turn) {
  if (!settings().one_connection) return;
  std::unique_lock lock(begun().mutex);
  begun().changed.wait(lock, [turn] { return begun().begun == turn; });
  ++begun().begun;
  begun().changed.notify_all();
}

std::shared_ptr<Worker> Worker::start() {
  auto worker = std::make_shared<Worker>();
  std::thread([worker] { worker->loop(); }).detach();
  const std::lock_guard lock(workers().mutex);
  std::erase_if(workers().all, [](const auto& other) { return other.expired(); });
  workers().all.push_back(worker);
  return worker;
}

/// Queues work, unless the thread has ended. Returns whether the work was queued.
bool Worker::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return false;
  queue_.push_back({Turns::next(), std::move(work)});
  changed_.notify_all();
  return true;
}

void Worker::queue(std::function<void()> work) {
  add(std::move(work));
}

void Worker::wait() {
  const auto marker = std::make_shared<Marker>();
  if (add([marker] { marker->reach(); })) marker->wait();
}

void Worker::end() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  changed_.notify_all();
}

void Worker::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
    if (queue_.empty()) {
      has_ended_ = true;
      return;
    }
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Turns::wait_for(work.turn);
    work.run();
    lock.lock();
  }
}

void queue_in(cudaStream_t stream, std::function<void()> work) {
  if (stream == nullptr) {
    device().queue(std::move(work));
  } else {
    stream->worker->queue(std::move(work));
  }
}

void wait_for_all() {
  device().wait();
  std::vector<std::shared_ptr<Worker>> running;
  {
    const std::lock_guard lock(workers().mutex);
    for (const auto& worker : workers().all)
      if (auto alive = worker.lock()) running.push_back(std::move(alive));
  }
  for (const auto& worker : running)
    worker->wait();
}

bool is_on_current_device(cudaStream_t stream) {
  int current = 0;
  cudaGetDevice(&current);
  return stream == nullptr || stream->device == current;
}

}  // namespace cudaemu
