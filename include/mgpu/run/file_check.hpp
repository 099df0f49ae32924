#pragma once

#include <functional>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::run {

/// One line of --check about files that keys name.
struct FileCheck {
  std::string what;  // "data/prompts.jsonl"

  /// Opens it and says what is in it. Collective; its Failures are the same on all ranks.
  std::function<std::string(const cluster::Group& world)> look;
};

}  // namespace mgpu::run
