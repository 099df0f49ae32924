#pragma once

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

// The HDF5 C API, held properly: one owner per id, every call checked, no error stack on stderr.
namespace mgpu::store::hdf5 {

struct HidTraits {
  using Raw = hid_t;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return H5I_INVALID_HID; }
  static void destroy(Raw id) noexcept { H5Idec_ref(id); }
};

/// Any HDF5 id but a file opened through MPI-IO.
using Hid = UniqueHandle<HidTraits>;

/// HDF5 refused; what() has the innermost line of its error stack.
class Hdf5Error : public Error {
public:
  Hdf5Error(std::string detail, Where where);
  const std::string& detail() const noexcept { return detail_; }

private:
  std::string detail_;
};

/// While it lives HDF5 prints nothing; errors are exceptions.
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

/// Throws Hdf5Error when `code` is negative; otherwise hands it back.
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
/// HDF5 1.10 leaves a file half freed when flushing it fails, and crashes when the library ends.
/// So room is reserved before HDF5 gets the bytes; and a file that is given up is put onto a
/// memory file, takes its last bytes there, and closes.
class SerialWriter {
public:
  static SerialWriter create(const std::filesystem::path& path);
  static SerialWriter open(const std::filesystem::path& path);
  SerialWriter(SerialWriter&&) noexcept = default;
  SerialWriter& operator=(SerialWriter&&) = delete;
  ~SerialWriter();

  hid_t id() const noexcept { return file_.get(); }

  /// Takes disk space for so many bytes more. Errors: Hdf5Error with errno's text.
  void reserve(std::uint64_t bytes) const;

  /// Errors: Hdf5Error; the file on disk is unusable then.
  void close();

private:
  SerialWriter(Hid file, std::filesystem::path path) noexcept
      : file_(std::move(file)), path_(std::move(path)) {}

  Hid file_;
  std::filesystem::path path_;
};

/// No time stamps, children in the order of their creation: the same bytes at every run.
Hid group_creation();
Hid file_creation();

/// How values of the type are stored, and lie in memory: little-endian; the bytes of texts are u8.
/// HDF5 owns the id.
hid_t number_type(ColumnType type);

/// u8 whose values 0, 1, ... have names. Errors: Hdf5Error.
Hid enum_type(std::span<const std::string> names);

/// The names of the values 0, 1, ... of a stored type; none where it is no such enum.
std::vector<std::string> names_of_values(hid_t type);

/// UTF-8 of so many bytes, filled up with zeros; 0: of any length, in HDF5's heap.
Hid text_type(std::size_t bytes = 0);

/// Data space [rows] or [rows, width].
Hid make_space(std::int64_t rows, std::int64_t width);

/// The data set's space with rows [first, first + rows) selected; nothing when rows = 0.
Hid select_rows(hid_t dataset, std::int64_t first, std::int64_t rows, std::int64_t width);

/// A memory space for that selection.
Hid memory_space(std::int64_t rows, std::int64_t width);

void write_attribute(hid_t object, const std::string& name, const std::string& text);
void write_attribute(hid_t object, const std::string& name, std::int64_t value);
void write_attribute(hid_t object, const std::string& name, double value);
void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts);
/// Makes the attribute, or replaces its value where it stands.
void write_u32_attribute(hid_t object, const std::string& name, std::uint32_t value);

bool has_attribute(hid_t object, const std::string& name);

/// One whole number. (Text attributes lie in a heap without checksums, where HDF5 1.10 can loop
/// for ever on a damaged file: nothing here reads them from files that are not trusted.)
std::int64_t read_integer_attribute(hid_t object, const std::string& name);

/// Rows [first, first + rows) of a data set of strings, padded ones or such as lie in the heap.
std::vector<std::string> read_texts(hid_t dataset, std::int64_t first, std::int64_t rows);

}  // namespace mgpu::store::hdf5
