#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

namespace mgpu::store {

/// Converts the payload of a chunk from another format to the current one.
using UpgradeChunk = std::function<std::vector<std::byte>(std::span<const std::byte>)>;

/// Appends the chunks of other run directories to `journal`, and then commits the journal. A chunk
/// that several directories have is appended once. `upgrade`, if given, converts the payload of
/// each chunk. Nothing is written to `directories`.
///
/// Ranks:  collective over `group`; each rank copies some of the chunks.
/// Memory: on each rank, one chunk (two with `upgrade`, or if several directories have the chunk),
///         and 72 bytes for every chunk of the directories. The memory of `journal` is not
///         included.
/// Errors: the same Failure on all ranks. E610: two directories store different contents for one
///         chunk, or were made from different data or weights. Reading can fail with E603
///         (unreadable), E604 (damaged) or E605 (another version). Appending can fail with E601
///         (cannot be created) or E602 (write failed).
void copy_chunks(const cluster::Group& group, std::span<const std::filesystem::path> directories,
                 ChunkJournal& journal, const UpgradeChunk& upgrade = {});

}  // namespace mgpu::store
