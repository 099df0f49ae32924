#pragma once

#include <cstddef>
#include <string>

#include "../include/cudaemu/launch.hpp"

namespace cudaemu {

/// Whether an H100 would take the launch, with so much dynamic shared memory allowed.
bool is_possible(const Launch& launch, std::size_t allowed_shared);

/// Runs all blocks, one after the other. Returns "", or why the kernel was stopped.
std::string run_grid(const Launch& launch);

}  // namespace cudaemu
