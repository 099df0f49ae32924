#pragma once

#include <filesystem>
#include <span>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::store {

/// Appends to `journal`, and commits, what the journals of other run directories hold: each chunk
/// once. The directories are only read.
///
/// Ranks:  collective; each rank copies its share.
/// Memory: a chunk on each rank, two where several directories have it; 32 bytes per chunk.
/// Errors: the same Failure on all ranks: E610 when two directories have one chunk with different
///         contents, or were made from different data or weights; those of reading and appending.
void copy_chunks(const cluster::Group& group, std::span<const std::filesystem::path> directories,
                 ChunkJournal& journal);

}  // namespace mgpu::store
