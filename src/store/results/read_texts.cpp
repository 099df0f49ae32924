#include <algorithm>
#include <array>

#include <mgpu/store/results/read_texts.hpp>

#include "hdf5.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

std::vector<std::string> read_column(hid_t file, const std::string& name, std::int64_t first,
                                     std::int64_t rows) {
  const Hid dataset = hdf5::own(H5Dopen2(file, name.c_str(), H5P_DEFAULT));
  const Hid type = hdf5::own(H5Dget_type(dataset.get()));
  const Hid space = hdf5::own(H5Dget_space(dataset.get()));
  const std::int64_t count = H5Sget_simple_extent_npoints(space.get());
  if (H5Tget_class(type.get()) != H5T_STRING || count < 0)
    throw Failure({"E605", ExitCode::data, "this is not a column of texts: " + name, {}, ""});
  const std::int64_t end = std::min(count, first + rows);
  if (first >= end) return {};
  return hdf5::read_texts(dataset.get(), first, end - first);
}

/// Names of the children of a group that is there.
std::vector<std::string> children(hid_t group) {
  H5G_info_t info{};
  hdf5::check(H5Gget_info(group, &info));
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    std::array<char, 256> name{};
    if (H5Lget_name_by_idx(group, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name.data(), name.size(),
                           H5P_DEFAULT) < 0)
      throw hdf5::Hdf5Error("a group without names in order", Where::here());
    names.emplace_back(name.data());
  }
  return names;
}

bool is_text(hid_t group, const std::string& name) {
  const Hid object = hdf5::own(H5Oopen(group, name.c_str(), H5P_DEFAULT));
  if (H5Iget_type(object.get()) != H5I_DATASET) return false;
  const Hid type = hdf5::own(H5Dget_type(object.get()));
  return H5Tget_class(type.get()) == H5T_STRING;
}

/// Opens the file for `look`; what HDF5 refuses becomes a failure that names the file.
template <class Look>
auto in_file(const std::filesystem::path& path, const Look& look) {
  if (!std::filesystem::is_regular_file(path)) {
    throw Failure(
        {"E603", ExitCode::no_input, "there is no such file", {"  --> " + path.string()}, ""});
  }
  const hdf5::Quiet quiet;
  try {
    const Hid access = hdf5::serial_access();
    const Hid file = hdf5::own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
    return look(file.get());
  } catch (const hdf5::Hdf5Error& error) {
    throw Failure({"E605",
                   ExitCode::data,
                   "this file cannot be read: " + error.detail(),
                   {"  --> " + path.string()},
                   ""});
  }
}

}  // namespace

std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& table,
                                    const std::string& column, std::int64_t first,
                                    std::int64_t rows) {
  return in_file(path,
                 [&](hid_t file) { return read_column(file, table + "/" + column, first, rows); });
}

std::vector<std::string> text_columns(const std::filesystem::path& path, const std::string& table) {
  return in_file(path, [&](hid_t file) {
    const Hid group = hdf5::own(H5Gopen2(file, table.c_str(), H5P_DEFAULT));
    std::vector<std::string> names = children(group.get());
    std::erase_if(names, [&](const std::string& name) { return !is_text(group.get(), name); });
    return names;
  });
}

std::vector<std::string> list_columns(const std::filesystem::path& path) {
  return in_file(path, [](hid_t file) -> std::vector<std::string> {
    if (H5Lexists(file, "arrays", H5P_DEFAULT) <= 0) return {};
    return children(hdf5::own(H5Gopen2(file, "arrays", H5P_DEFAULT)).get());
  });
}

}  // namespace mgpu::store
