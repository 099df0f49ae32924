#pragma once

#include <cstdint>
#include <memory>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Numbers 0, 1, 2, ..., each given to one rank: to whichever asks first.
///
/// A thread of rank 0 answers, because MPI moves nothing for others while a rank computes. It
/// sleeps between two looks, a hundredth of the time since the last question: from 50 us to 2 ms.
///
/// Ranks:  constructed and destroyed collectively over the group, destroyed when no rank asks any
///         more; take() is local.
class Tickets {
public:
  Tickets(const Group& group, double timeout_s);
  Tickets(const Tickets&) = delete;
  Tickets& operator=(const Tickets&) = delete;
  ~Tickets();

  /// Errors: Failure E402 when rank 0 does not answer within the deadline; on rank 0 those of the
  ///         thread that answers.
  std::int64_t take();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
