#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::input {

/// The ranks that read a file together: all ranks of the world, or a single rank without the
/// others.
class Readers {
public:
  Readers() = default;
  explicit Readers(const cluster::Group& world) : world_(&world) {}

  int rank() const { return world_ == nullptr ? 0 : world_->rank(); }
  int size() const { return world_ == nullptr ? 1 : world_->size(); }

  /// Runs `step` on all readers. If `step` throws on a reader, all readers throw that failure, as
  /// with cluster::run_together().
  void together(const std::function<void()>& step) const {
    if (world_ == nullptr) return step();
    cluster::run_together(*world_, step);
  }

  /// Returns the `bytes` of rank 0 on every reader.
  std::string broadcast(std::string bytes) const {
    return world_ == nullptr ? bytes : world_->broadcast(std::move(bytes), 0);
  }

  /// Returns `mine` of every reader, ordered by rank.
  std::vector<std::string> all_gather(std::string_view mine) const {
    if (world_ == nullptr) return {std::string(mine)};
    return world_->all_gather(mine);
  }

private:
  const cluster::Group* world_ = nullptr;
};

}  // namespace mgpu::input
