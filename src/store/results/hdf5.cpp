#include "hdf5.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mgpu::store::hdf5 {
namespace {

/// Replaces `text` by the description of an entry of the error stack. HDF5 visits the innermost
/// entry last, and this entry names the error of the operating system.
herr_t keep_innermost(unsigned /*depth*/, const H5E_error2_t* entry, void* text) {
  if (entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

std::string innermost_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, &keep_innermost, &text);
  H5Eclear2(H5E_DEFAULT);
  // The POSIX driver of HDF5 adds the time, the buffer and offsets, which do not help users.
  constexpr std::string_view kBefore = "error message = '";
  const std::size_t begin = text.find(kBefore);
  if (begin != std::string::npos) {
    text.erase(0, begin + kBefore.size());
    text.resize(std::min(text.find('\''), text.size()));
  }
  return text.empty() ? "no reason given" : text;
}

int descriptor_of(hid_t file) {
  void* handle = nullptr;
  check(H5Fget_vfd_handle(file, H5P_DEFAULT, &handle));
  return *static_cast<int*>(handle);
}

/// Writes zeros from the end of the file up to offset `end`, to reserve space on file systems
/// without fallocate. Returns 0, or the errno of the call that failed.
int write_zeros(int fd, off_t end) {
  static const std::array<char, 1 << 16> kZeros{};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno;
  for (off_t at = info.st_size; at < end;) {
    const auto n = std::min<std::size_t>(kZeros.size(), static_cast<std::size_t>(end - at));
    const ssize_t written = ::pwrite(fd, kZeros.data(), n, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    at += written;
  }
  return 0;
}

Hid access() {
  Hid plist = own(H5Pcreate(H5P_FILE_ACCESS));
  check(H5Pset_libver_bounds(plist.get(), H5F_LIBVER_V18, H5F_LIBVER_V18));
  check(H5Pset_file_locking(plist.get(), false, true));
  check(H5Pset_sieve_buf_size(plist.get(), 0));  // unbuffered: H5Dwrite() reports write errors
  return plist;
}

void write_scalar(hid_t object, const std::string& name, hid_t stored, hid_t memory,
                  const void* value) {
  const Hid space = own(H5Screate(H5S_SCALAR));
  const Hid attribute =
      own(H5Acreate2(object, name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  check(H5Awrite(attribute.get(), memory, value));
}

}  // namespace

Hdf5Error::Hdf5Error(std::string detail, Where where)
    : Error("HDF5: " + detail, where), detail_(std::move(detail)) {}

Quiet::Quiet() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Quiet::~Quiet() {
  H5Eset_auto2(H5E_DEFAULT, function_, data_);
}

hid_t check_id(hid_t code, Where where) {
  if (code < 0) throw Hdf5Error(innermost_error(), where);
  return code;
}

void check(herr_t code, Where where) {
  if (code < 0) throw Hdf5Error(innermost_error(), where);
}

Hid own(hid_t id, Where where) {
  return Hid(check_id(id, where));
}

Hid serial_access() {
  return access();
}

SerialWriter SerialWriter::create(const std::filesystem::path& path) {
  const Hid creation = file_creation();
  const Hid access = serial_access();
  return {own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get())), path};
}

SerialWriter SerialWriter::open(const std::filesystem::path& path) {
  const Hid access = serial_access();
  return {own(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get())), path};
}

SerialWriter::~SerialWriter() {
  void* handle = nullptr;
  if (!file_ || H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &handle) < 0) return;
  const int memory = ::memfd_create("mgpu_given_up", MFD_CLOEXEC);
  if (memory < 0) return;
  ::dup2(memory, *static_cast<int*>(handle));
  ::close(memory);
}

void SerialWriter::reserve(std::uint64_t bytes) const {
  constexpr std::uint64_t kMetadataBytes = 128 << 10;
  hsize_t used = 0;  // size of the file, including data in HDF5's caches
  check(H5Fget_filesize(file_.get(), &used));
  const int fd = descriptor_of(file_.get());
  const auto end = static_cast<off_t>(used + bytes + kMetadataBytes);
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, end) == 0) return;
  const int error = errno == EOPNOTSUPP ? write_zeros(fd, end) : errno;
  if (error == 0) return;
  const std::string needed = std::to_string(((bytes + kMetadataBytes) >> 20) + 1) + " MiB";
  throw Hdf5Error(std::strerror(error) + (", needed " + needed + " more"), Where::here());
}

void SerialWriter::close() {
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL));
  hsize_t size = 0;
  check(H5Fget_filesize(file_.get(), &size));
  check(H5Fclose(file_.release()));
  std::filesystem::resize_file(path_, size);  // gives back reserved space that was not used
}

Hid parallel_access(MPI_Comm comm) {
  Hid plist = access();
  check(H5Pset_fapl_mpio(plist.get(), comm, MPI_INFO_NULL));
  check(H5Pset_all_coll_metadata_ops(plist.get(), true));  // rank 0 reads metadata for all ranks
  return plist;
}

Hid group_creation() {
  Hid plist = own(H5Pcreate(H5P_GROUP_CREATE));
  check(H5Pset_obj_track_times(plist.get(), false));
  check(H5Pset_link_creation_order(plist.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
  return plist;
}

Hid file_creation() {
  Hid plist = own(H5Pcreate(H5P_FILE_CREATE));
  check(H5Pset_obj_track_times(plist.get(), false));
  check(H5Pset_link_creation_order(plist.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
  return plist;
}

namespace {

hid_t make_half_type() {
  const hid_t type = check_id(H5Tcopy(H5T_IEEE_F32LE));
  check(H5Tset_fields(type, 15, 10, 5, 0, 10));
  check(H5Tset_size(type, 2));
  check(H5Tset_ebias(type, 15));
  return type;
}

}  // namespace

hid_t number_type(ColumnType type) {
  static const hid_t half = make_half_type();
  switch (type) {
    case ColumnType::f16:
      return half;
    case ColumnType::i32:
      return H5T_STD_I32LE;
    case ColumnType::i64:
      return H5T_STD_I64LE;
    case ColumnType::f32:
      return H5T_IEEE_F32LE;
    case ColumnType::f64:
      return H5T_IEEE_F64LE;
    case ColumnType::u8:
    case ColumnType::text:
      return H5T_STD_U8LE;
    case ColumnType::u16:
      return H5T_STD_U16LE;
    case ColumnType::u32:
      return H5T_STD_U32LE;
    case ColumnType::u64:
      return H5T_STD_U64LE;
  }
  throw Error("unknown ColumnType " + std::to_string(static_cast<int>(type)));
}

Hid enum_type(std::span<const std::string> names) {
  Hid type = own(H5Tenum_create(H5T_STD_U8LE));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<std::uint8_t>(i);
    check(H5Tenum_insert(type.get(), names[i].c_str(), &value));
  }
  return type;
}

std::vector<std::string> names_of_values(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1) return {};
  std::vector<std::string> names(static_cast<std::size_t>(std::max(0, H5Tget_nmembers(type))));
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::uint8_t value = 0;
    check(H5Tget_member_value(type, static_cast<unsigned>(i), &value));
    char* name = H5Tget_member_name(type, static_cast<unsigned>(i));
    if (name == nullptr || value >= names.size() || !names[value].empty()) {
      H5free_memory(name);
      return {};
    }
    names[value] = name;
    H5free_memory(name);
  }
  return names;
}

Hid text_type(std::size_t bytes) {
  Hid type = own(H5Tcopy(H5T_C_S1));
  check(H5Tset_size(type.get(), bytes == 0 ? H5T_VARIABLE : bytes));
  if (bytes > 0) check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD));
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8));
  return type;
}

Hid make_space(std::int64_t rows, std::int64_t width) {
  const std::array<hsize_t, 2> sizes{static_cast<hsize_t>(rows), static_cast<hsize_t>(width)};
  return own(H5Screate_simple(width == 1 ? 1 : 2, sizes.data(), nullptr));
}

Hid select_rows(hid_t dataset, std::int64_t first, std::int64_t rows, std::int64_t width) {
  Hid space = own(H5Dget_space(dataset));
  if (rows == 0) {
    check(H5Sselect_none(space.get()));
    return space;
  }
  const std::array<hsize_t, 2> start{static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> count{static_cast<hsize_t>(rows), static_cast<hsize_t>(width)};
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                            nullptr));
  return space;
}

Hid memory_space(std::int64_t rows, std::int64_t width) {
  Hid space = make_space(rows == 0 ? 1 : rows, width);
  if (rows == 0) check(H5Sselect_none(space.get()));
  return space;
}

void write_attribute(hid_t object, const std::string& name, const std::string& text) {
  const char* value = text.c_str();
  const Hid type = text_type();
  write_scalar(object, name, type.get(), type.get(), &value);
}

void write_attribute(hid_t object, const std::string& name, std::int64_t value) {
  write_scalar(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

void write_attribute(hid_t object, const std::string& name, double value) {
  write_scalar(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

void write_attribute(hid_t object, const std::string& name, std::span<const std::string> texts) {
  std::vector<const char*> values;
  for (const std::string& text : texts)
    values.push_back(text.c_str());
  const Hid type = text_type();
  const Hid space = make_space(static_cast<std::int64_t>(values.size()), 1);
  const Hid attribute =
      own(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  if (!values.empty()) check(H5Awrite(attribute.get(), type.get(), values.data()));
}

void write_u32_attribute(hid_t object, const std::string& name, std::uint32_t value) {
  if (!has_attribute(object, name)) {
    write_scalar(object, name, H5T_STD_U32LE, H5T_NATIVE_UINT32, &value);
    return;
  }
  const Hid attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  check(H5Awrite(attribute.get(), H5T_NATIVE_UINT32, &value));
}

bool has_attribute(hid_t object, const std::string& name) {
  const htri_t found = H5Aexists(object, name.c_str());
  check(static_cast<herr_t>(found));
  return found > 0;
}

std::int64_t read_integer_attribute(hid_t object, const std::string& name) {
  const Hid attribute = own(H5Aopen(object, name.c_str(), H5P_DEFAULT));
  const Hid space = own(H5Aget_space(attribute.get()));
  const Hid type = own(H5Aget_type(attribute.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != 1 || H5Tget_class(type.get()) != H5T_INTEGER) {
    throw Hdf5Error("attribute '" + name + "' is not one whole number", Where::here());
  }
  std::int64_t value = 0;
  check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value));
  return value;
}

namespace {

std::vector<std::string> read_padded(hid_t dataset, hid_t type, hid_t memory, hid_t file_space,
                                     std::size_t rows) {
  const std::size_t size = H5Tget_size(type);
  std::string bytes(rows * size, '\0');
  check(H5Dread(dataset, type, memory, file_space, H5P_DEFAULT, bytes.data()));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string_view text(bytes.data() + i * size, size);
    texts.emplace_back(text.substr(0, text.find('\0')));
  }
  return texts;
}

std::vector<std::string> read_from_heap(hid_t dataset, hid_t memory, hid_t file_space,
                                        std::size_t rows) {
  std::vector<char*> values(rows, nullptr);
  const Hid type = text_type();
  check(H5Dread(dataset, type.get(), memory, file_space, H5P_DEFAULT, values.data()));
  std::vector<std::string> texts;
  for (const char* value : values)
    texts.emplace_back(value == nullptr ? "" : value);
  check(H5Dvlen_reclaim(type.get(), memory, H5P_DEFAULT, values.data()));
  return texts;
}

}  // namespace

std::vector<std::string> read_texts(hid_t dataset, std::int64_t first, std::int64_t rows) {
  const Hid type = own(H5Dget_type(dataset));
  const Hid file_space = select_rows(dataset, first, rows, 1);
  const Hid memory = memory_space(rows, 1);
  const auto count = static_cast<std::size_t>(rows);
  if (H5Tis_variable_str(type.get()) > 0)
    return read_from_heap(dataset, memory.get(), file_space.get(), count);
  return read_padded(dataset, type.get(), memory.get(), file_space.get(), count);
}

}  // namespace mgpu::store::hdf5
