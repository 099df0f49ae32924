#include "group_numbers.hpp"

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

constexpr hsize_t kMaxAttributes = 4096;

/// Adds attribute `index` of the group to `numbers`, if the attribute is a single number.
void add_number(hid_t group, hsize_t index, std::map<std::string, double>& numbers) {
  const Hid attribute = hdf5::own(
      H5Aopen_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, H5P_DEFAULT, H5P_DEFAULT));
  const Hid space = hdf5::own(H5Aget_space(attribute.get()));
  const Hid type = hdf5::own(H5Aget_type(attribute.get()));
  const H5T_class_t kind = H5Tget_class(type.get());
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return;
  if (kind != H5T_INTEGER && kind != H5T_FLOAT) return;
  std::string name(256, '\0');
  const ssize_t length = H5Aget_name(attribute.get(), name.size(), name.data());
  if (length < 0 || static_cast<std::size_t>(length) >= name.size())
    fail_table("an attribute's name is too long");
  name.resize(static_cast<std::size_t>(length));
  hdf5::check(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &numbers[name]));
}

}  // namespace

std::map<std::string, double> numbers_of_group(hid_t group) {
  H5O_info_t info{};
  hdf5::check(H5Oget_info2(group, &info, H5O_INFO_NUM_ATTRS));
  if (info.num_attrs > kMaxAttributes) fail_table("it has too many attributes");
  std::map<std::string, double> numbers;
  for (hsize_t i = 0; i < info.num_attrs; ++i)
    add_number(group, i, numbers);
  return numbers;
}

std::map<std::string, double> read_numbers(const std::filesystem::path& path,
                                           const std::string& group) {
  return name_failures(path, group, [&] {
    const Hid file = open_to_read(path);
    return numbers_of_group(hdf5::own(H5Gopen2(file.get(), group.c_str(), H5P_DEFAULT)).get());
  });
}

}  // namespace mgpu::store
