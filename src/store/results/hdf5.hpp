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

// Wrappers for the HDF5 C API: one owner per id, every call checked, no error stack on stderr.
namespace mgpu::store::hdf5 {

struct HidTraits {
  using Raw = hid_t;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return H5I_INVALID_HID; }
  static void destroy(Raw id) noexcept { H5Idec_ref(id); }
};

/// Any HDF5 id but a file opened through MPI-IO.
using Hid = UniqueHandle<HidTraits>;

/// An HDF5 call failed; what() has the innermost line of its error stack.
class Hdf5Error : public Error {
public:
  Hdf5Error(std::string detail, Where where);
  const std::string& detail() const noexcept { return detail_; }

private:
  std::string detail_;
};

/// Keeps HDF5 from printing during its lifetime; errors become exceptions.
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

/// Throws Hdf5Error when `code` is negative; otherwise returns it.
hid_t check_id(hid_t code, Where where = Where::here());
void check(herr_t code, Where where = Where::here());

/// Owner of a fresh id. Errors: Hdf5Error.
Hid own(hid_t id, Where where = Where::here());

/// Serial access with the fixed format version, without flock (the run directory has a lock).
Hid serial_access();
/// The same through MPI-IO.
Hid parallel_access(MPI_Comm comm);

/// A file that this process alone writes.
///
/// HDF5 1.10 leaves a file half freed when flushing it fails, and crashes when the library ends. So
/// room is reserved before HDF5 gets the bytes. A file that is given up is redirected to a file in
/// memory, which takes its last bytes and is closed.
class SerialWriter {
public:
  static SerialWriter create(const std::filesystem::path& path);
  static SerialWriter open(const std::filesystem::path& path);
  SerialWriter(SerialWriter&&) noexcept = default;
  SerialWriter& operator=(SerialWriter&&) = delete;
  ~SerialWriter();

  hid_t id() const noexcept { return file_.get(); }

  /// Reserves disk space for this many more bytes. Errors: Hdf5Error with errno's text.
  void reserve(std::uint64_t bytes) const;

  /// Errors: Hdf5Error; the file on disk is unusable then.
  void close();

private:
  SerialWriter(Hid file, std::filesystem::path path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}

  Hid file_;
  std::filesystem::path path_;
};

/// No time stamps, children in the order of their creation: every run writes the same bytes.
Hid group_creation();
Hid file_creation();

/// The stored type of values, which is also their type in memory: little-endian; the bytes of texts
/// are u8. HDF5 owns the id.
hid_t number_type(ColumnType type);

/// u8 whose values 0, 1, ... have names. Errors: Hdf5Error.
Hid enum_type(std::span<const std::string> names);

/// The names of the values 0, 1, ... of a stored type; empty if it is not such an enum.
std::vector<std::string> names_of_values(hid_t type);

/// UTF-8 text of this many bytes, padded with zeros. With 0: of any length, in HDF5's heap.
Hid text_type(std::size_t bytes = 0);

/// Data space [rows] or [rows, width].
Hid make_space(std::int64_t rows, std::int64_t width);

/// The data set's space with rows [first, first + rows) selected; an empty selection if rows = 0.
Hid select_rows(hid_t dataset, std::int64_t first, std::int64_t rows, std::int64_t width);

/// A memory space for that selection.
Hid memory_space(std::int64_t rows, std::int64_t width);

void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, std::int64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts);
/// Creates the attribute, or replaces its value in place.
void write_u32_attribute(hid_t object, const std::string& name, std::uint32_t value);

bool has_attribute(hid_t object, const std::string& name);

/// Reads one whole number. (Text attributes lie in a heap without checksums, where HDF5 1.10 can
/// loop forever on a damaged file. So they are never read from untrusted files.)
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Rows [first, first + rows) of a data set of strings, either padded or in the heap.
std::vector<std::string> read_texts(hid_t dataset, std::int64_t first, std::int64_t rows);

}  // namespace mgpu::store::hdf5
