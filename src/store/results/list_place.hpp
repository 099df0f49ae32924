#pragma once

#include <string>
#include <vector>

#include "hdf5.hpp"

// Places of list columns in a result file. Format 2 has arrays/<table>/<column>. Format 1 had
// arrays/<column>, and texts among the table's own data sets.
namespace mgpu::store {

/// Number attribute with value 1, of lists whose values are the bytes of texts.
inline constexpr const char* kIsText = "is_text";

/// The group of a column in files that this program writes.
inline std::string place_of_lists(const std::string& table, const std::string& column) {
  return "arrays/" + table + "/" + column;
}

/// The group of a column in an open file of any format; "" if it does not exist. Errors: Hdf5Error.
std::string find_lists(hid_t file, const std::string& table, const std::string& column);

/// Names of the children of a group in order of creation; empty if the group is missing. Errors:
/// Hdf5Error.
std::vector<std::string> children_of(hid_t file, const std::string& group);

/// Names of a table's list columns of numbers, or of its text columns, in order of creation.
/// Errors: Hdf5Error.
std::vector<std::string> find_list_columns(hid_t file, const std::string& table);
std::vector<std::string> find_text_columns(hid_t file, const std::string& table);

}  // namespace mgpu::store
