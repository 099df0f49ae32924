#include "list_place.hpp"

#include "stored_column.hpp"

namespace mgpu::store {
namespace {

using hdf5::Hid;

bool exists(hid_t file, const std::string& path) {
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
    if (H5Lexists(file, path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  return H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0;
}

bool is_column(hid_t file, const std::string& place) {
  return exists(file, place + "/row_offsets");
}

bool is_text(hid_t file, const std::string& place) {
  return hdf5::has_attribute(hdf5::own(H5Gopen2(file, place.c_str(), H5P_DEFAULT)).get(), kIsText);
}

bool is_string_dataset(hid_t file, const std::string& path) {
  const Hid object = hdf5::own(H5Oopen(file, path.c_str(), H5P_DEFAULT));
  if (H5Iget_type(object.get()) != H5I_DATASET) return false;
  return H5Tget_class(hdf5::own(H5Dget_type(object.get())).get()) == H5T_STRING;
}

/// Returns the names of the columns below `group` that are stored as lists: the text columns if
/// `of_texts` is true, else the list columns of numbers.
std::vector<std::string> columns_below(hid_t file, const std::string& group, bool of_texts) {
  std::vector<std::string> names = children_of(file, group);
  std::erase_if(names, [&](const std::string& name) {
    const std::string place = group + "/" + name;
    return !is_column(file, place) || is_text(file, place) != of_texts;
  });
  return names;
}

}  // namespace

std::string find_lists(hid_t file, const std::string& table, const std::string& column) {
  for (const std::string& place : {place_of_lists(table, column), "arrays/" + column})
    if (is_column(file, place)) return place;
  return "";
}

std::vector<std::string> children_of(hid_t file, const std::string& group) {
  if (!exists(file, group)) return {};
  return names_in_group(hdf5::own(H5Gopen2(file, group.c_str(), H5P_DEFAULT)).get());
}

std::vector<std::string> find_list_columns(hid_t file, const std::string& table) {
  std::vector<std::string> names = columns_below(file, "arrays/" + table, false);
  return names.empty() ? columns_below(file, "arrays", false) : names;
}

std::vector<std::string> find_text_columns(hid_t file, const std::string& table) {
  std::vector<std::string> names = columns_below(file, "arrays/" + table, true);
  for (const std::string& name : children_of(file, table))
    if (is_string_dataset(file, table + "/" + name)) names.push_back(name);
  return names;
}

}  // namespace mgpu::store
