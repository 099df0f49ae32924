#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/table.hpp>

#include "hdf5.hpp"

// This header reads columns of HDF5 files that are not trusted.
namespace mgpu::store {

/// Throws Failure E605 (exit 65) for a table that cannot be read; `what` is the reason in its
/// message.
[[noreturn]] void fail_table(const std::string& what);

/// Throws Failure E603 (exit 66) for a file that does not exist or is not a regular file.
[[noreturn]] void fail_missing();

/// Calls require_inspected() for an HDF5 file, then opens it for reading. The caller must hold an
/// hdf5::Quiet.
/// Errors: those of require_inspected(); Hdf5Error.
hdf5::Hid open_to_read(const std::filesystem::path& path);

/// Opens an HDF5 file that has not been inspected yet, to inspect it. Errors: Failure E603;
/// Hdf5Error.
hdf5::Hid open_uninspected(const std::filesystem::path& path);

/// Throws Failure E604 (exit 80) if an HDF5 data set has an attribute crc32c with a value other
/// than `crc`. `name` is the name of the column in the message. Errors: Hdf5Error.
void require_checksum(hid_t dataset, const std::string& name, std::uint32_t crc);

/// Returns the result of read(). If read() throws a Failure, adds path and table to its report. If
/// read() throws an Hdf5Error, throws Failure E605 with path and table instead.
template <class Read>
auto name_failures(const std::filesystem::path& path, const std::string& table, Read read) {
  const hdf5::Quiet quiet;
  try {
    try {
      return read();
    } catch (const hdf5::Hdf5Error& problem) {
      fail_table(problem.detail());
    }
  } catch (const Failure& failure) {
    ErrorReport report = failure.report();
    report.lines.insert(report.lines.begin(), "  --> " + path.string() + ", table " + table);
    throw Failure(std::move(report));
  }
}

/// One HDF5 data set of a file that is not trusted. Its type, storage, shape and size have been
/// checked.
class StoredColumn {
public:
  /// Checks the data set. `max_bytes` is the result of most_bytes() for the file. Errors: Failure
  /// E605 for a data set that is no column or larger than `max_bytes`; Hdf5Error.
  StoredColumn(hdf5::Hid dataset, const std::string& name, std::uint64_t max_bytes);

  /// Opens an HDF5 data set by name; refuses soft and external links. Errors: Failure E605;
  /// Hdf5Error.
  static StoredColumn open(hid_t group, const std::string& name, std::uint64_t max_bytes);

  bool is_number() const { return spec_.type != ColumnType::text; }
  const ColumnSpec& spec() const { return spec_; }
  std::int64_t rows() const { return rows_; }

  /// Reads rows [first, first + count) into `bytes`. Errors: ShapeError when `bytes` has another
  /// size than these rows; Hdf5Error.
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> bytes) const;

  /// Throws Failure E604 (exit 80) if the file has a checksum other than `crc` for the column.
  void require_checksum(std::uint32_t crc) const {
    store::require_checksum(dataset_.get(), spec_.name, crc);
  }

private:
  hdf5::Hid dataset_;
  ColumnSpec spec_;
  std::int64_t rows_ = 0;
};

/// A column is read in pieces of at most this size. A row of more bytes is read as one piece.
inline constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

/// Reads a whole column in pieces, and calls visit(piece) for each piece in order. Returns the
/// CRC-32C of the column. Errors: Failure E604 (exit 80) if this CRC-32C differs from the
/// checksum in the file; Hdf5Error.
template <class Visit>
std::uint32_t visit_pieces(const StoredColumn& stored, Visit visit) {
  ReadColumn piece{stored.spec(), {}};
  const std::size_t row_bytes = stored.spec().row_bytes();
  const auto at_once = static_cast<std::int64_t>(std::max<std::size_t>(1, kPieceBytes / row_bytes));
  std::uint32_t crc = 0;
  for (std::int64_t first = 0; first < stored.rows(); first += at_once) {
    const std::int64_t count = std::min(at_once, stored.rows() - first);
    piece.bytes.resize(static_cast<std::size_t>(count) * row_bytes);
    stored.read(first, count, piece.bytes);
    crc = crc32c(piece.bytes, crc);
    visit(piece);
    mark_progress();
  }
  stored.require_checksum(crc);
  return crc;
}

/// Returns an upper limit for the bytes of uncompressed data in a file of `file_bytes` bytes.
std::uint64_t most_bytes(std::uint64_t file_bytes);

/// Returns the names of a group's entries, in the order of creation if the file has recorded this
/// order for the group, else sorted.
/// Errors: Failure E605 (exit 65) for too many entries or a very long name; Hdf5Error.
std::vector<std::string> names_in_group(hid_t group);

/// Refuses an entry of a group that is a soft or external link, because such a link can lead to
/// another place or file. Errors: Failure E605 for such a link; Hdf5Error.
void require_plain_link(hid_t group, const std::string& name);

}  // namespace mgpu::store
