#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/run/chunk_phase.hpp>

namespace mgpu::run {

/// Consecutive chunks that a group works on at once, as a view into the list that blocks_of()
/// divides.
using ChunkBlock = std::span<const Chunk>;

/// Divides the static_share() of each group into blocks of at most `most` chunks. `chunks` are the
/// chunks of all groups, and `groups` is the number of groups. All groups get the same number of
/// blocks, so some blocks may be empty.
///
/// Shapes: returns groups * ceil(ceil(chunks / groups) / most) blocks, those of group 0 first.
std::vector<ChunkBlock> blocks_of(std::span<const Chunk> chunks, int groups, std::int64_t most);

}  // namespace mgpu::run
