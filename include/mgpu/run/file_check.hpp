#pragma once

#include <functional>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::run {

/// A check of one file named by a key: one line of --check.
struct FileCheck {
  std::string what;  // "data/prompts.jsonl"

  /// Opens the file and describes its contents. Collective; its Failures are the same on all ranks.
  std::function<std::string(const cluster::Group& world)> look;
};

}  // namespace mgpu::run
