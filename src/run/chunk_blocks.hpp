#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/run/chunk_phase.hpp>

namespace mgpu::run {

/// Consecutive chunks that a group works on at once, as a view into the list that blocks_of()
/// divides.
using ChunkBlock = std::span<const Chunk>;

/// Divides `chunks` into blocks of at most `most` chunks, the same number of blocks for each of
/// `groups` groups. The blocks of a group are consecutive, and together they are its
/// static_share(). If there are few chunks, some blocks are empty.
/// Shapes: returns groups * ceil(ceil(chunks / groups) / most) blocks, those of group 0 first.
std::vector<ChunkBlock> blocks_of(std::span<const Chunk> chunks, int groups, std::int64_t most);

}  // namespace mgpu::run
