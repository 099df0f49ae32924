#pragma once

#include <span>
#include <string>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/seal.hpp>

namespace mgpu::store {

/// Reads columns of numbers from the journal, before seal() writes the result file. The result also
/// has the column `id` of the sealed table. Rows are in the order of the table. Rows that no chunk
/// of the journal holds are left out, as in a partial result file. Each rank reads some of the
/// chunks, and all ranks get the same result.
///
/// Memory: all columns that are read, on every rank.
/// Ranks:  collective over `group`.
/// Errors: the same Failure on all ranks: E603 (a ledger cannot be read), E604 (a chunk is
///         damaged). Error for a column that the table lacks, or that has lists or texts.
ReadTable read_chunks(const cluster::Group& group, const ChunkJournal& journal,
                      const ChunkedTable& table, std::span<const std::string> columns);

}  // namespace mgpu::store
