#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <mgpu/store/results/table.hpp>

#include "hdf5.hpp"

// Columns of an HDF5 file that is not trusted.
namespace mgpu::store {

/// Throws Failure E605 (exit 65), which says `what` is wrong with the table.
[[noreturn]] void fail_table(const std::string& what);

/// Opens an HDF5 file for reading; the caller must hold a hdf5::Quiet. Errors: Failure E603
/// (missing file); Hdf5Error.
hdf5::Hid open_to_read(const std::filesystem::path& path);

/// Returns the result of read(). Adds path and table to the report of a Failure that it throws, and
/// turns an Hdf5Error into Failure E605.
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

/// One data set of a file that is not trusted. Its type, storage, shape and size have been checked.
class StoredColumn {
public:
  /// `max_bytes` is the most that the file can hold, see most_bytes(). Errors: Failure E605;
  /// Hdf5Error.
  StoredColumn(hdf5::Hid dataset, const std::string& name, std::uint64_t max_bytes);

  /// Opens a data set by name; refuses soft and external links. Errors: Failure E605; Hdf5Error.
  static StoredColumn open(hid_t group, const std::string& name, std::uint64_t max_bytes);

  bool is_number() const { return spec_.type != ColumnType::text; }
  const ColumnSpec& spec() const { return spec_; }
  std::int64_t rows() const { return rows_; }

  /// Reads rows [first, first + count) into `bytes`. Errors: Hdf5Error.
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> bytes) const;

  /// Returns the checksum that the file stores for the whole column; empty if it stores no
  /// checksum.
  std::optional<std::int64_t> checksum() const;

  /// Throws Failure E604 (exit 80) if the file has a checksum for the column that is not `crc`.
  void require_checksum(std::uint32_t crc) const;

private:
  hdf5::Hid dataset_;
  ColumnSpec spec_;
  std::int64_t rows_ = 0;
};

/// Returns an upper limit for the bytes of data in a file of `file_bytes` bytes, even if they are
/// compressed.
std::uint64_t most_bytes(std::uint64_t file_bytes);

/// Throws unless an entry of a group is an object of the same file, rather than a soft or external
/// link. Errors: Failure E605; Hdf5Error.
void require_plain_link(hid_t group, const std::string& name);

}  // namespace mgpu::store
