#pragma once

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// An abort flag that any rank can raise without waiting, and that the others can poll.
///
/// It serves loops without collectives. A rank that fails raises the flag and enters the agreement
/// that ends the loop; its peers stop at their next poll instead of finishing their share.
///
/// Ranks: the constructor is collective over the group, all other calls are local.
class Alarm {
public:
  explicit Alarm(const Group& group);
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() = default;

  /// Raises the flag on every other rank. Does not block; a second call does nothing.
  void ring();

  /// Returns whether any rank has raised the flag, including this one.
  bool rang();

private:
  Group group_;
  bool heard_ = false;
  bool rung_ = false;
};

}  // namespace mgpu::cluster
