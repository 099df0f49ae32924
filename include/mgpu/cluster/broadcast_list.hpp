#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/cluster/try_together.hpp>

namespace mgpu::cluster {

/// Replaces `values` on every rank by the list of rank 0. If a rank has no memory for the list, all
/// ranks throw.
/// Ranks:  collective over `group`.
template <class T>
void broadcast_list(const Group& group, std::vector<T>& values) {
  std::int64_t size = std::ssize(values);
  group.broadcast(std::span<std::int64_t>(&size, 1), 0);
  run_together(group, [&] { values.resize(static_cast<std::size_t>(size)); });
  group.broadcast(std::span<T>(values), 0);
}

}  // namespace mgpu::cluster
