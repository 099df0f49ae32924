#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>
#include <mpi.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/unique_handle.hpp>
#include <mgpu/store/results/table.hpp>

// This header wraps the HDF5 C API. Each id has one owner. Each call is checked, and the functions
// throw Hdf5Error if a call fails.
namespace mgpu::store::hdf5 {

struct HidTraits {
  using Raw = hid_t;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return H5I_INVALID_HID; }
  static void destroy(Raw id) noexcept { H5Idec_ref(id); }
};

/// Owner of an HDF5 id. A file that is opened through MPI-IO has no Hid, because closing it is
/// collective.
using Hid = UniqueHandle<HidTraits>;

/// Thrown when an HDF5 call fails. The result of detail() is the innermost line of HDF5's error
/// stack, or, for failures that this module finds itself, the reason.
class Hdf5Error : public Error {
public:
  Hdf5Error(std::string detail, Where where);
  const std::string& detail() const noexcept { return detail_; }

private:
  std::string detail_;
};

/// Keeps HDF5 from printing its error stack to stderr while a Quiet exists. With or without a
/// Quiet, check() turns errors into exceptions.
class Quiet {
public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The functions check_id() and check() check the result of an HDF5 call; check_id() also returns
/// the result.
/// Errors: Hdf5Error when `code` is negative.
hid_t check_id(hid_t code, Where where = Where::here());
void check(herr_t code, Where where = Where::here());

/// Takes ownership of a new id. Errors: Hdf5Error when the id is negative.
Hid own(hid_t id, Where where = Where::here());

/// Returns file access properties for one process, with a fixed format version. The properties
/// switch off flock, because RunLock already protects the run directory.
Hid serial_access();
/// Returns file access properties for access through MPI-IO by all ranks of `comm`. Like those of
/// serial_access(), the properties have a fixed format version and no flock.
/// Ranks:  collective over `comm`, which HDF5 duplicates.
Hid parallel_access(MPI_Comm comm);

/// A file that this process alone writes.
///
/// If a flush fails, HDF5 1.10 leaves the file half freed, and crashes when the library closes at
/// the end of the process. To prevent this, callers reserve disk space before they pass bytes to
/// HDF5. If the file was not closed by close(), the destructor redirects its descriptor to memory,
/// so that HDF5's last flush cannot fail.
class SerialWriter {
public:
  static SerialWriter create(const std::filesystem::path& path);
  static SerialWriter open(const std::filesystem::path& path);
  SerialWriter(SerialWriter&&) noexcept = default;
  SerialWriter& operator=(SerialWriter&&) = delete;
  ~SerialWriter();

  hid_t id() const noexcept { return file_.get(); }

  /// Reserves disk space for `bytes` more bytes. Errors: Hdf5Error with errno's text.
  void reserve(std::uint64_t bytes) const;

  /// Closes the file, and frees reserved space that was not used.
  /// Errors: Hdf5Error or std::filesystem::filesystem_error. After an error, the file on disk is
  ///         unusable.
  void close();

private:
  SerialWriter(Hid file, std::filesystem::path path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}

  Hid file_;
  std::filesystem::path path_;
};

/// The functions group_creation() and file_creation() return creation properties without time
/// stamps and with children in the order of their creation. So equal content gives equal bytes.
Hid group_creation();
Hid file_creation();

/// Returns the HDF5 type of a column's values, both in the file and in memory. Numbers are
/// little-endian, and texts are bytes of type u8. HDF5 owns the id.
hid_t number_type(ColumnType type);

/// Returns an HDF5 enum type over u8. Value i has the name `names[i]`. Errors: Hdf5Error.
Hid enum_type(std::span<const std::string> names);

/// Returns the names of an enum over u8 with the values 0, 1, ..., n - 1; empty for every other
/// type.
std::vector<std::string> names_of_values(hid_t type);

/// Returns the HDF5 type of UTF-8 texts. Each text has `bytes` bytes, and is padded with zeros. If
/// `bytes` is 0, texts have any length and are stored in HDF5's heap.
Hid text_type(std::size_t bytes = 0);

/// Returns the data space [rows], or [rows, width] if width is not 1.
Hid make_space(std::int64_t rows, std::int64_t width);

/// Returns the file space of an HDF5 data set, in which rows [first, first + rows) are selected.
/// Nothing is selected if `rows` is 0.
Hid select_rows(hid_t dataset, std::int64_t first, std::int64_t rows, std::int64_t width);

/// Returns the memory space for a buffer [rows, width], for use with a file space that
/// select_rows() returned. Nothing is selected if `rows` is 0.
Hid memory_space(std::int64_t rows, std::int64_t width);

void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, std::int64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts);
/// Creates a u32 attribute, or replaces its value in place.
void write_u32_attribute(hid_t object, const std::string& name, std::uint32_t value);

bool has_attribute(hid_t object, const std::string& name);

/// Returns the value of an attribute that is one whole number. There is no such function for text
/// attributes, because HDF5 stores them in a heap without checksums. On a damaged file HDF5 1.10
/// can loop forever in that heap.
///
/// Errors: Hdf5Error, also if the attribute is missing or is not one whole number.
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Returns rows [first, first + rows) of an HDF5 data set of strings, which may be padded or stored
/// in HDF5's heap.
std::vector<std::string> read_texts(hid_t dataset, std::int64_t first, std::int64_t rows);

}  // namespace mgpu::store::hdf5
