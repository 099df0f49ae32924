#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {

/// Remedies for unusable rows.
inline constexpr const char* kBadRowHelp =
    "repair or remove them, none is skipped; or data.on_bad_row=mark, which writes them down with "
    "the reason and goes on";

/// A row of a data file.
struct Row {
  std::int64_t id = 0;        // index in the data set, from 0: the global sample id
  std::int64_t line = 0;      // line where the row begins, from 1; in Parquet, number of the row
  formats::JsonValue object;  // columns under our names; other columns keep their names
  std::string problem;  // "": the row is usable; otherwise the reason, and `object` may be null
};

/// The rows of a file, or generated rows, read on demand.
///
/// CSV cells are texts, but `messages` and lists of ids are parsed as JSON. JSON integers beyond 64
/// bits become texts of their digits. Nulls and unquoted empty cells count as missing: columns
/// under our names never contain them. In rows without a problem, the columns that RowOptions
/// requires have these types. `text`, `prompt` and `completion` are texts; `messages` is a list of
/// objects with the texts `role` and `content`; `token_ids` and `completion_ids` are lists of
/// integers >= 0. No list is empty; `id` is a text or integer.
///
/// Memory: an index of 16 bytes per 32 rows, a block of the file, and the requested rows; for
///         Parquet 1024 rows and 1 MiB per column.
/// Ranks:  local. One thread at a time.
class RowFile {
public:
  struct Opened;
  explicit RowFile(std::unique_ptr<Opened> opened);
  RowFile(RowFile&&) noexcept;
  RowFile& operator=(RowFile&&) noexcept;
  ~RowFile();

  /// Returns the number of rows after data.start and data.max_samples.
  std::int64_t rows() const;

  /// Reads `count` rows, beginning with row `first`. Reading in ascending order is fast.
  /// Errors: Failure E534 (exit 65) when the file has changed since it was opened; E603.
  std::vector<Row> read(std::int64_t first, std::int64_t count) const;

  /// Returns the checksum of the whole file, which identifies the data of a run.
  std::uint32_t crc() const;

  /// Returns the bytes of the whole file, or of all generated rows as JSON Lines.
  std::uint64_t bytes() const;

  /// Returns the path of the file, or the name of generated rows.
  const fs::path& path() const;

  /// Returns the file's columns in order; empty for JSON.
  const std::vector<std::string>& columns() const;

private:
  std::unique_ptr<Opened> opened_;
};

/// Opens the file on every rank. Rank 0 reads it once for an index. With BadRow::stop or an `id`
/// column, the ranks then check all rows; each rank checks a share.
///
/// Ranks:  collective.
/// Errors: the same on all ranks: Failure E603 (missing, exit 66); E531 (unusable rows: their
///         number and the first five); E532 (unknown or wrong format), E533 (missing column), E534
///         (hosts see different files), E535 (Parquet is not in this build).
RowFile open_rows(const cluster::Group& world, const RowOptions& options);

/// Does the same for a single rank.
RowFile open_rows(const RowOptions& options);

/// Returns the bytes of the file, or of generated rows as JSON Lines. A missing file has 0 bytes.
std::uint64_t bytes_of(const RowOptions& options);

}  // namespace mgpu::input
