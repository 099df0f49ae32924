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

/// The help text of errors about unusable rows.
inline constexpr const char* kBadRowHelp =
    "repair or remove them, none is skipped; or data.on_bad_row=mark, which writes them down with "
    "the reason and goes on";

/// A row of a data file.
struct Row {
  std::int64_t id = 0;    // global sample id: the row at data.start has 0
  std::int64_t line = 0;  // first line of the row, from 1; for Parquet and generated rows, the
                          // number of the row, from 1
  /// The value of each column, by name. Columns in RowOptions::columns have this program's names;
  /// other columns keep the file's names.
  formats::JsonValue object;
  std::string problem;  // "": the row is usable; otherwise why not, and `object` may be null
};

/// The rows of a file, or generated rows, read on demand.
///
/// The columns in RowOptions::columns get this program's names, such as `prompt`. If the file has a
/// null or an unquoted empty cell for a column in RowOptions::one_of, all_of or may_have, the row
/// lacks this column. CSV cells are texts, but `messages` and lists of ids are parsed as JSON. JSON
/// integers that do not fit std::int64_t become texts of their digits.
///
/// In rows without a problem, the columns in one_of, all_of and may_have have the following types.
/// `text`, `prompt` and `completion` are texts; `messages` is a list of objects with the texts
/// `role` and `content`; `token_ids` and `completion_ids` are lists of integers >= 0. No list is
/// empty. The columns `id` and `cut` are texts or integers, and `answer` is a text or a number. If
/// `chosen` is in all_of, then each of `prompt`, `chosen` and `rejected` is a text or a list like
/// `messages`.
/// In rows without `token_ids`, a column `completion_ids` may have any type.
///
/// Memory: an index of 16 bytes per 32 rows, a block of the file, and the requested rows; for
///         Parquet 1024 rows and 1 MiB per column.
/// Ranks:  local. Only one thread at a time may use the object.
class RowFile {
public:
  struct Opened;
  explicit RowFile(std::unique_ptr<Opened> opened);
  RowFile(RowFile&&) noexcept;
  RowFile& operator=(RowFile&&) noexcept;
  ~RowFile();

  /// Returns the number of rows that remain after data.start and data.max_samples are applied.
  std::int64_t rows() const;

  /// Reads `count` rows, beginning with row `first`. Reading in ascending order is fast.
  /// Errors: Failure E534 (exit 65) when the file has changed since it was opened; Failure E603
  ///         (exit 74) when it cannot be read; E532 (exit 65) when it is a damaged Parquet file.
  ///         Error when the rows are not in [0, rows()).
  std::vector<Row> read(std::int64_t first, std::int64_t count) const;

  /// Returns the CRC-32C of the whole file, or of all generated rows as JSON Lines. It identifies
  /// the data of a run.
  std::uint32_t crc() const;

  /// Returns the size in bytes of the whole file, or of all generated rows as JSON Lines.
  std::uint64_t bytes() const;

  /// Returns the path of the file, or the name of generated rows.
  const fs::path& path() const;

  /// Returns the names of the file's columns, in order. Empty for JSON, whose rows may differ, and
  /// for generated rows.
  const std::vector<std::string>& columns() const;

private:
  std::unique_ptr<Opened> opened_;
};

/// Opens the file on every rank. First, rank 0 reads the file once to make an index. Afterwards,
/// the ranks check all rows if RowOptions::on_bad_row is BadRow::stop or if rows must have an `id`.
/// Each rank checks an equal share of the rows.
///
/// Ranks:  collective over `world`.
/// Errors: every rank throws the same Failure:
///         - E603 (exit 66): the file is missing
///         - E531: the file is empty; with BadRow::stop also if rows are unusable, of which it
///           shows the number and the first five
///         - E532: the format is unknown or wrong, or there are no rows from data.start on
///         - E533: a column is missing
///         - E534: hosts see different files, or the file changed
///         - E535 (exit 69): Parquet is not in this build
RowFile open_rows(const cluster::Group& world, const RowOptions& options);

/// Opens the file on a single rank, which reads the file once to make an index. Afterwards, this
/// rank checks all rows if RowOptions::on_bad_row is BadRow::stop or if rows must have an `id`.
///
/// Errors: those of the overload above
RowFile open_rows(const RowOptions& options);

/// Returns the number of rows that remain after data.start and data.max_samples are applied, but at
/// most `most`. Reads no more of the file than is needed to count them, and checks no row.
/// Errors: those of open_rows() about a file that is missing, has an unknown format or cannot be
///         read.
std::int64_t count_rows(const RowOptions& options, std::int64_t most);

/// Returns the size in bytes of the file, or of the generated rows as JSON Lines. A missing file
/// has 0 bytes.
std::uint64_t bytes_of(const RowOptions& options);

}  // namespace mgpu::input
