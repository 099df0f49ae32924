#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// An ordered broadcast of messages from rank `root` of a group to all others, without a barrier:
/// post() returns at once. Each other rank waits for a message only in receive().
///
/// Ranks:  the constructor and the destructor are collective over the group. Only `root` calls
///         post(). All ranks, including `root`, call receive() once for each message.
/// Memory: the root keeps a message until receive() has returned it on the root, and MPI has sent
///         it to all other ranks. A later post() or the destructor frees messages that MPI has
///         sent.
class OrderedBroadcast {
public:
  OrderedBroadcast(const Group& group, int root, double timeout_s);
  OrderedBroadcast(const OrderedBroadcast&) = delete;
  OrderedBroadcast& operator=(const OrderedBroadcast&) = delete;
  ~OrderedBroadcast();

  bool is_root() const;
  void post(std::string message);

  /// Returns the next message. A rank other than the root waits for it. On the root, the message
  /// must already have been posted.
  /// Errors: Error on the root if it has posted no further message. On other ranks, Failure E402 if
  ///         no message arrives within the constructor's `timeout_s`. After that, each later call
  ///         on this rank throws E403.
  std::string receive();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
