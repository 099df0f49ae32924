#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// An ordered broadcast of messages from one rank of a group to all others, without
/// synchronization: the sender continues at once, and the others receive when they call receive().
///
/// Ranks:  the constructor is collective over the group; only the sender calls post(), and all
///         ranks including the sender receive() each message once.
/// Memory: a message is kept until all other ranks have received it.
class OrderedBroadcast {
public:
  OrderedBroadcast(const Group& group, int root, double timeout_s);
  OrderedBroadcast(const OrderedBroadcast&) = delete;
  OrderedBroadcast& operator=(const OrderedBroadcast&) = delete;
  ~OrderedBroadcast();

  bool is_root() const;
  void post(std::string message);

  /// Returns the next message. Errors: Failure E402 if it does not arrive within the deadline.
  std::string receive();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
