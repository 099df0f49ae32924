#pragma once

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// An abort flag that any rank can raise without waiting, and that the others can poll.
///
/// It serves loops without collectives. A rank that fails raises the flag and enters the collective
/// that ends the loop. Its peers stop at their next poll instead of finishing their share, and
/// enter it too.
///
/// Ranks: the constructor is collective over the group, all other calls are local.
class AbortFlag {
public:
  explicit AbortFlag(const Group& group);
  AbortFlag(const AbortFlag&) = delete;
  AbortFlag& operator=(const AbortFlag&) = delete;
  ~AbortFlag() = default;

  /// Raises the flag on every other rank. Does not block; a second call does nothing.
  void raise();

  /// Returns whether any rank has raised the flag, including this one.
  bool is_raised();

private:
  Group group_;
  bool has_seen_ = false;
  bool has_raised_ = false;
};

}  // namespace mgpu::cluster
