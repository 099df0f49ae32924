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

/// Waits for the calls of one communicator to finish, with a deadline and cancellation.
class Waiter {
public:
  Waiter(const Group& group, double timeout_s);

  /// Begins a call: logs it for the watchdog (CallLog) and starts its deadline. The call ends when
  /// the returned object is destroyed. For a call between two ranks, `peer` is the other rank, as
  /// an index in the group.
  /// Errors: Failure E403 (the communicator cannot be used any more) after cancel() or close(), or
  ///         after an earlier call of this Waiter has failed.
  [[nodiscard]] LoggedGroup::Inside begin(const Call& call, int peer = LoggedGroup::kNoPeer);

  /// Polls until `is_done` returns true.
  /// Errors: TimeoutError after the deadline, E403 after cancel(). After either, is_dead() is true.
  void until(const std::function<bool()>& is_done);

  /// Polls until all requests have finished. Errors: those of until(); LibraryError if MPI fails.
  void until_all(std::span<MPI_Request> requests);

  /// Makes the current call and all later ones throw E403. Any thread may call this function.
  void cancel() noexcept { is_canceled_ = true; }
  bool is_canceled() const noexcept { return is_canceled_; }

  /// Returns whether a call has failed, or close() was called. Messages of a failed call may still
  /// be in flight.
  bool is_dead() const noexcept { return is_dead_; }
  /// Makes all later calls throw E403. Call it after a failure outside of this object.
  void close() noexcept { is_dead_ = true; }
  /// Throws Failure E403, whose sentence describes the current call and ends with `sentence_end`.
  /// From then on, is_dead() returns true.
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

/// Returns the error of a rank that waited too long in the call that `call` describes.
TimeoutError timed_out(const std::string& call, const Group& group, double timeout_s);

/// Compares the call of this rank with the calls of all other ranks. Does nothing unless the build
/// is checked (MGPU_CHECKED=1).
///
/// Ranks:  collective over `group`.
/// Errors: ShapeError when the calls differ; the errors of Waiter::until().
void check_call(const Group& group, const Call& mine, Waiter& waiter);

}  // namespace mgpu::cluster
