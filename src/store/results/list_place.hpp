#pragma once

#include <string>
#include <vector>

#include "hdf5.hpp"

// This header finds list and text columns, which result files store in these places:
//
// - Format 2 stores lists, and the texts of chunked tables, in groups arrays/<table>/<column>.
// - Format 1 stores lists in groups arrays/<column>.
// - Texts of small tables, and all texts of format 1, are HDF5 strings among the table's HDF5 data
//   sets.
namespace mgpu::store {

/// Name of the HDF5 attribute, with value 1, that marks lists whose values are the bytes of texts.
inline constexpr const char* kIsText = "is_text";

/// Returns the path of the HDF5 group with the lists of a column, in files that this program
/// writes.
inline std::string place_of_lists(const std::string& table, const std::string& column) {
  return "arrays/" + table + "/" + column;
}

/// Returns the path of the HDF5 group with the lists of a column, in an open file of any format; ""
/// if the file has no such lists.
/// Errors: Hdf5Error.
std::string find_lists(hid_t file, const std::string& table, const std::string& column);

/// Returns the names in an HDF5 group, see names_in_group(); empty if the group is missing. Errors:
/// those of names_in_group().
std::vector<std::string> children_of(hid_t file, const std::string& group);

/// The function find_list_columns() returns the names of a table's list columns of numbers. In a
/// file of format 1, it returns the list columns of all tables. The function find_text_columns()
/// returns the names of a table's text columns. Names are in the order of names_in_group(), but
/// texts that are stored as lists come before texts that are HDF5 strings. Errors: those of
/// names_in_group().
std::vector<std::string> find_list_columns(hid_t file, const std::string& table);
std::vector<std::string> find_text_columns(hid_t file, const std::string& table);

}  // namespace mgpu::store
