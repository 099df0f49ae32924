#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// An ordered broadcast of messages from rank `root` of a group to all others, without
/// synchronization. post() returns at once, and each rank waits for a message only in receive().
///
/// Ranks:  the constructor is collective over the group. Only `root` calls post(). All ranks,
///         including `root`, receive() each message once.
/// Memory: a message is kept until all other ranks have received it.
class OrderedBroadcast {
public:
  OrderedBroadcast(const Group& group, int root, double timeout_s);
  OrderedBroadcast(const OrderedBroadcast&) = delete;
  OrderedBroadcast& operator=(const OrderedBroadcast&) = delete;
  ~OrderedBroadcast();

  bool is_root() const;
  void post(std::string message);

  /// Waits for the next message, and returns it. Errors: Failure E402 if it does not arrive within
  /// the constructor's `timeout_s`.
  std::string receive();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
