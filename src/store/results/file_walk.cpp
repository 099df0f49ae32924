#include "file_walk.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

#include "group_numbers.hpp"
#include "hdf5.hpp"
#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

/// Reads an HDF5 file, one object after the other. FileWalk makes the same HDF5 calls as the
/// functions that read tables later, so a file that crashes HDF5 already crashes FileWalk. If
/// set_inspector() was called, FileWalk runs in a separate process, and only that process crashes.
class FileWalk {
public:
  FileWalk(hid_t file, std::uint64_t file_bytes,
           const std::function<void(std::uint64_t)>& after_piece)
      : file_(file), max_bytes_(most_bytes(file_bytes)), after_piece_(after_piece) {}

  void run() {
    groups_.push_back(hdf5::own(H5Gopen2(file_, "/", H5P_DEFAULT)));
    while (!groups_.empty()) {
      const Hid group = std::move(groups_.back());
      groups_.pop_back();
      numbers_of_group(group.get());
      for (const std::string& name : names_in_group(group.get()))
        read_child(group.get(), name);
    }
  }

private:
  void read_child(hid_t group, const std::string& name) {
    H5L_info_t link{};
    hdf5::check(H5Lget_info(group, name.c_str(), &link, H5P_DEFAULT));
    if (link.type != H5L_TYPE_HARD) return;  // soft and external links are not followed
    Hid object = hdf5::own(H5Oopen(group, name.c_str(), H5P_DEFAULT));
    H5O_info_t info{};
    hdf5::check(H5Oget_info2(object.get(), &info, H5O_INFO_BASIC));
    if (!seen_.insert(info.addr).second) return;
    if (info.type == H5O_TYPE_GROUP) {
      groups_.push_back(std::move(object));
    } else if (info.type == H5O_TYPE_DATASET) {
      read_dataset(std::move(object), name);
    }
  }

  /// Reads an HDF5 data set, unless the functions that read tables would refuse it.
  void read_dataset(Hid dataset, const std::string& name) {
    if (!has_known_filters(dataset.get())) return;
    const Hid type = hdf5::own(H5Dget_type(dataset.get()));
    if (H5Tget_class(type.get()) == H5T_STRING) {
      read_strings(dataset.get(), type.get(), name);
    } else if (const auto column = readable(std::move(dataset), name)) {
      visit_pieces(*column, [&](const ReadColumn& piece) { tell(piece.bytes.size()); });
    }
  }

  /// Returns whether this program can undo all filters of an HDF5 data set, such as compression.
  static bool has_known_filters(hid_t dataset) {
    const Hid creation = hdf5::own(H5Dget_create_plist(dataset));
    const int filters = H5Pget_nfilters(creation.get());
    for (int i = 0; i < filters; ++i) {
      unsigned flags = 0;
      std::size_t num_values = 0;
      const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                                 &num_values, nullptr, 0, nullptr, nullptr);
      if (H5Zfilter_avail(filter) <= 0) return false;
    }
    return true;
  }

  /// Returns the HDF5 data set as a column; nullopt if its type, storage, shape or size is not
  /// supported.
  std::optional<StoredColumn> readable(Hid dataset, const std::string& name) const {
    try {
      return StoredColumn(std::move(dataset), name, max_bytes_);
    } catch (const Failure&) {
      return std::nullopt;
    }
  }

  void read_strings(hid_t dataset, hid_t type, const std::string& name) {
    const Hid space = hdf5::own(H5Dget_space(dataset));
    if (H5Sget_simple_extent_ndims(space.get()) != 1) return;
    const auto rows = static_cast<std::int64_t>(H5Sget_simple_extent_npoints(space.get()));
    const bool is_heap = H5Tis_variable_str(type) > 0;
    constexpr std::size_t kHeapEntryBytes = 16;
    const std::size_t size =
        is_heap ? kHeapEntryBytes : std::max<std::size_t>(1, H5Tget_size(type));
    if (rows < 0 || static_cast<std::uint64_t>(rows) > max_bytes_ / size)
      fail_table("column '" + name + "' says it is larger than its file can hold");
    constexpr std::int64_t kHeapTexts = 64;  // few, because texts in the heap may be long
    const auto at_once =
        is_heap ? kHeapTexts
                : static_cast<std::int64_t>(std::max<std::size_t>(1, kPieceBytes / size));
    std::uint32_t crc = 0;
    for (std::int64_t first = 0; first < rows; first += at_once)
      for (std::string& text : hdf5::read_texts(dataset, first, std::min(at_once, rows - first))) {
        text.resize(is_heap ? text.size() + 1 : size, '\0');  // the checksum covers these zeros
        crc = crc32c(std::string_view(text), crc);
        tell(text.size());
      }
    require_checksum(dataset, name, crc);
  }

  void tell(std::uint64_t bytes) const {
    if (after_piece_) after_piece_(bytes);
  }

  hid_t file_;
  std::uint64_t max_bytes_;
  const std::function<void(std::uint64_t)>& after_piece_;
  std::vector<Hid> groups_;  // groups not read yet
  std::set<haddr_t> seen_;
};

}  // namespace

void walk_file(const std::filesystem::path& path,
               const std::function<void(std::uint64_t)>& after_piece) {
  name_failures(path, "/", [&] {
    const Hid file = open_uninspected(path);
    FileWalk(file.get(), std::filesystem::file_size(path), after_piece).run();
  });
}

}  // namespace mgpu::store
