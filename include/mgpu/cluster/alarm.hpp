#pragma once

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// A bell that any rank can ring without waiting, and that the others hear when they look.
///
/// For loops without collectives: a rank that fails rings and goes to the agreement that ends
/// the loop; its peers stop at their next look instead of finishing their share first.
///
/// Ranks: the constructor is collective over the group, the rest is local.
class Alarm {
public:
  explicit Alarm(const Group& group);
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() = default;

  /// Rings at every other rank. Does not block; a second call does nothing.
  void ring();

  /// Whether any rank rang, this one included.
  bool rang();

private:
  Group group_;
  bool heard_ = false;
  bool rung_ = false;
};

}  // namespace mgpu::cluster
