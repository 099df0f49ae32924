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

/// What can be done about rows that cannot be used.
inline constexpr const char* kBadRowHelp =
    "repair or remove them, none is skipped; or data.on_bad_row=mark, which writes them down with "
    "the reason and goes on";

/// A row of a data file.
struct Row {
  std::int64_t id = 0;  // index in the data set, from 0: the global id of a sample
  std::int64_t line =
      0;  // of the file, from 1, where the row begins; of Parquet: number of the row
  formats::JsonValue object;  // columns under our names, and the others of the file under theirs
  std::string problem;  // "": the row can be used; otherwise why not, and `object` may be null
};

/// The rows of a file, read when they are asked for.
///
/// Cells of CSV are texts, but `messages` and `token_ids` are read as JSON. Integers of JSON that
/// do not fit into 64 bits are texts of their digits. A null is as good as nothing, and so is an
/// empty cell without quotes: under our names there are none. Of what RowOptions asks for, in rows
/// without a problem, `text`, `prompt` and `completion` are texts, `messages` is a list of objects
/// with the texts `role` and `content`, `token_ids` a list of integers from 0, and no list is
/// empty; `id` is a text or an integer.
///
/// Memory: an index of 16 bytes for 32 rows, a block of the file, and the rows that are asked for;
///         of Parquet 1024 rows and a MiB for each column.
/// Ranks:  local. One thread at a time.
class RowFile {
public:
  struct Opened;
  explicit RowFile(std::unique_ptr<Opened> opened);
  RowFile(RowFile&&) noexcept;
  RowFile& operator=(RowFile&&) noexcept;
  ~RowFile();

  /// After data.start and data.max_samples.
  std::int64_t rows() const;

  /// Fast where rows are asked for in ascending order.
  /// Errors: Failure E534 (exit 65) when the file is not what it was when it was opened; E603.
  std::vector<Row> read(std::int64_t first, std::int64_t count) const;

  /// Of the bytes of the file, all of them: names what is made of them.
  std::uint32_t crc() const;

  const fs::path& path() const;

  /// The file's columns, in its order; none of JSON.
  const std::vector<std::string>& columns() const;

private:
  std::unique_ptr<Opened> opened_;
};

/// Opens the file on every rank. Rank 0 reads it once for an index; with BadRow::stop, or where an
/// `id` column is named, the ranks then look at all rows, each at its share.
///
/// Ranks:  collective.
/// Errors: the same on all ranks: Failure E603 (missing, exit 66), E531 (rows that cannot be used:
///         how many, and the first five), E532 (no such format, or not of it), E533 (no such
///         column), E534 (another file on another host), E535 (Parquet is not in this build).
RowFile open_rows(const cluster::Group& world, const RowOptions& options);

/// The same for one rank.
RowFile open_rows(const RowOptions& options);

}  // namespace mgpu::input
