#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::store {

/// Converts a chunk of another format to the current one.
using UpgradeChunk = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Appends the chunks of other run directories to `journal`, and commits. A chunk that several
/// directories have is appended once. `upgrade`, if given, converts each chunk. The directories are
/// only read.
///
/// Ranks:  collective; each rank copies its share.
/// Memory: on each rank one chunk, or two if several directories have it, and 32 bytes for every
///         chunk.
/// Errors: the same Failure on all ranks: E610 when two directories have one chunk with different
///         contents, or were made from different data or weights; errors of reading and appending.
void copy_chunks(const cluster::Group& group, std::span<const std::filesystem::path> directories,
                 ChunkJournal& journal, const UpgradeChunk& upgrade = {});

}  // namespace mgpu::store
