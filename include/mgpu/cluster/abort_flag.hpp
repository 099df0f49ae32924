#pragma once

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// A flag that any rank can raise without waiting, and that the other ranks can poll.
///
/// It serves loops without collectives. A rank that fails raises the flag and enters the collective
/// that follows the loop. The other ranks see the flag at their next poll, leave the loop early,
/// and enter the collective too.
///
/// Ranks:  the constructor and the destructor are collective over the group; all other calls are
///         local.
class AbortFlag {
public:
  explicit AbortFlag(const Group& group);
  AbortFlag(const AbortFlag&) = delete;
  AbortFlag& operator=(const AbortFlag&) = delete;
  ~AbortFlag() = default;

  /// Raises the flag for every other rank. Does not block; a second call does nothing.
  void raise();

  /// Returns whether any rank has raised the flag, including this one.
  bool is_raised();

private:
  Group group_;
  bool has_seen_ = false;
  bool has_raised_ = false;
};

}  // namespace mgpu::cluster
