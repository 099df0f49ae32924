#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/results/table.hpp>

namespace mgpu::store {

struct Attribute {
  std::string name;
  std::variant<std::string, std::int64_t, double> value;
};

/// An HDF5 group that has only attributes, such as /run with the configuration keys of the run.
struct AttributeGroup {
  std::string path;
  std::vector<Attribute> attributes;
};

/// A table whose rows are in the journal. Chunk c holds rows [c * chunk_rows, (c + 1) *
/// chunk_rows); the last chunk may be shorter. In the result file, the first column of the table is
/// `id` (i64), the row's number in this table, from 0. `spec` does not contain this column.
struct ChunkedTable {
  TableSpec spec;
  std::uint32_t phase = 0;
  std::int64_t chunk_rows = 32;
};

/// A table that rank 0 holds in memory. The other ranks need not pass it to seal().
struct SmallTable {
  TableSpec spec;
  std::vector<std::byte> rows;  // result of ChunkEncoder(spec, 0, spec.rows).finish()
};

struct SealRequest {
  std::filesystem::path path;         // path of the finished file, which appears only when complete
  std::string what = "results";       // name of the file in messages and failpoints
  std::uint32_t attempt = 0;          // number of this attempt of the run
  int gzip = 0;                       // gzip level 1 to 9; 0: no compression
  bool text = true;                   // false: leave text columns of `tables` out
  bool partial = false;               // true: leave missing chunks out; false: they are an error
  std::vector<Attribute> attributes;  // attributes of the root group
  std::vector<AttributeGroup> groups;
  std::vector<ChunkedTable> tables;  // the same on all ranks
  std::vector<SmallTable> small_tables;
  std::function<void()> check_current{};  // called on rank 0 before publishing; throws if another
                                          // attempt has taken over the run
};

struct SealResult {
  std::int64_t rows = 0;               // rows written, over all chunked tables
  std::int64_t missing_rows = 0;       // rows left out of a partial file
  std::uint64_t file_bytes = 0;        // size of the file
  std::int64_t collective_writes = 0;  // this rank's writes that HDF5 made collectively
  std::int64_t other_writes = 0;       // this rank's writes that HDF5 did not make collectively
};

/// Writes one HDF5 file that does not depend on the number of ranks, and publishes it.
///
/// All ranks write the uncompressed columns collectively. All ranks compress the rows of the other
/// columns, and rank 0 writes the compressed rows. Lists and texts are never compressed. Every rank
/// reads back the rows of chunked tables that it wrote or compressed, and compares their checksums.
/// Then the file gets its final name.
///
/// Root attribute `status` is "complete" or "partial", and `missing_rows` counts the rows left out.
/// Each data set has the CRC-32C of its bytes as attribute `crc32c`. Texts of a small table are
/// padded with zeros to the longest text of the column. Tables follow AnnData's encoding of data
/// frames, or of dictionaries if a column is wider than 1. A table with a TableSpec::signal also
/// follows NXdata of NeXus.
///
/// Failpoints: <what>.create .reserve .open .write .close .sync .verify .rename .dirsync
/// Memory: about 16 MiB per rank, and 8 bytes for each chunk of each column of lists or texts. Rank
///         0 also needs 4 MiB for each rank while it gathers compressed columns.
/// Ranks:  collective over `group`.
/// Errors: the same Failure on all ranks: E602 (I/O, disk full), E603 (a ledger cannot be read),
///         E604 (a chunk is damaged), E606 (other bytes are read back than were written). Also the
///         failure that SealRequest::check_current throws. Error when chunks are missing and
///         `partial` is not set. After an error, no file is published.
SealResult seal(const cluster::Group& group, const ChunkJournal& journal,
                const SealRequest& request);

/// Does the same as seal() with a journal, for a file that has only small tables and attributes.
/// SealRequest::tables must be empty.
SealResult seal(const cluster::Group& group, const SealRequest& request);

}  // namespace mgpu::store
