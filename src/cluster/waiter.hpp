#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include <mgpu/cluster/group.hpp>

#include "call_check.hpp"

namespace mgpu::cluster {

/// Waits for the communicator's calls, with a deadline and cancellation.
class Waiter {
public:
  Waiter(const Group& group, double timeout_s);

  /// Starts the deadline of the next call, which ends with the block. `peer` is a rank of the
  /// group, for a call between two ranks.
  [[nodiscard]] LoggedGroup::Inside begin(const Call& call, int peer = LoggedGroup::kNoPeer);

  /// Polls until `is_done` returns true.
  /// Errors: TimeoutError after the deadline, E403 after cancel(); is_dead() is true then.
  void until(const std::function<bool()>& is_done);

  /// Polls until all requests have finished. Errors: as until; LibraryError.
  void until_all(std::span<MPI_Request> requests);

  /// Cancels the current and later calls. Any thread.
  void cancel() noexcept { is_canceled_ = true; }
  bool is_canceled() const noexcept { return is_canceled_; }

  /// Returns whether a call has failed; its messages may still be in flight.
  bool is_dead() const noexcept { return is_dead_; }
  [[noreturn]] void die(const std::string& sentence_end);

private:
  std::string now() const;

  const Group& group_;
  LoggedGroup log_;
  double timeout_s_;
  Call call_{CallKind::barrier};
  std::int64_t number_ = 0;
  std::chrono::steady_clock::time_point begun_;
  std::atomic<bool> is_canceled_ = false;
  bool is_dead_ = false;
};

/// Makes the error of a rank that waited too long.
TimeoutError timed_out(const std::string& call, const Group& group, double timeout_s);

/// Compares the call across the group in checked builds. Errors: ShapeError; those of Waiter.
void check_call(const Group& group, const Call& mine, Waiter& waiter);

}  // namespace mgpu::cluster
