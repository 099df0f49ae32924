#pragma once

#include <functional>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::run {

/// A check of one input of a run: a file, a model folder, or rows that the program generates.
/// --check prints it as one line.
struct FileCheck {
  std::string what;  // the input, such as "data/prompts.jsonl"

  /// Opens the input and returns a description of its contents. Collective over `world`; every rank
  /// throws the same Failure.
  std::function<std::string(const cluster::Group& world)> look;
};

}  // namespace mgpu::run
