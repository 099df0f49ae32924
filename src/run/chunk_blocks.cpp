#include "chunk_blocks.hpp"

#include <algorithm>

namespace mgpu::run {
namespace {

std::int64_t ceil_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

}  // namespace

std::vector<ChunkBlock> blocks_of(std::span<const Chunk> chunks, int groups, std::int64_t most) {
  const std::int64_t largest_share = ceil_of(std::ssize(chunks), groups);
  const auto rounds = static_cast<int>(ceil_of(largest_share, std::max<std::int64_t>(1, most)));
  std::vector<ChunkBlock> blocks;
  for (int group = 0; group < groups; ++group)
    for (int round = 0; round < rounds; ++round)
      blocks.push_back(static_share(static_share(chunks, group, groups), round, rounds));
  return blocks;
}

}  // namespace mgpu::run
