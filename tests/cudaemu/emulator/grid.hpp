#pragma once

#include <cstddef>
#include <string>

#include "../include/cudaemu/launch.hpp"

namespace cudaemu {

/// Returns whether an H100 would accept the launch with this limit of dynamic shared memory.
bool is_possible(const Launch& launch, std::size_t allowed_shared);

/// Runs all blocks in sequence. Returns "", or the reason for stopping the kernel.
std::string run_grid(const Launch& launch);

}  // namespace cudaemu
