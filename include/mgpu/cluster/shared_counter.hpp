#pragma once

#include <cstdint>
#include <memory>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// A counter 0, 1, 2, ... that all ranks of a group share. Each number is given to one rank, the
/// first that asks.
///
/// A separate thread of rank 0 answers the other ranks, because the main thread makes no MPI calls
/// while it computes. Between two polls the thread sleeps for 1 % of the time since the last
/// request, but at least 50 us and at most 2 ms.
///
/// Ranks:  the constructor and the destructor are collective over the group; take() is local.
///         Destroy the object only after the last take() of every rank.
class SharedCounter {
public:
  SharedCounter(const Group& group, double timeout_s);
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  ~SharedCounter();

  /// Returns the next number.
  /// Errors: on ranks other than 0, Failure E402 when rank 0 does not answer within the
  ///         constructor's `timeout_s`. After an E402, each later call on this rank throws E403. On
  ///         rank 0, the exception that ended the thread that answers the other ranks.
  std::int64_t take();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
