#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {

/// Renames the columns of a file to this program's names, such as `prompt`, and checks the columns
/// that the job requires.
class RowFields {
public:
  explicit RowFields(const RowOptions& options);

  /// Checks the names of the columns of a table (CSV, TSV or Parquet), whose rows all have the same
  /// columns. `path` is for messages.
  /// Errors: Failure E533 (exit 65) when a column of RowOptions::all_of or RowOptions::columns is
  ///         missing, or when all columns of RowOptions::one_of are missing.
  void check_columns(const fs::path& path, const std::vector<std::string>& columns) const;

  /// Returns the row with this program's names of columns. `has_cells` is true for a row of CSV or
  /// TSV, in which lists are JSON texts. If RowOptions::columns maps names of RowOptions::one_of,
  /// columns with the other names of RowOptions::one_of are removed before the checks.
  ///
  /// Errors: RowError in these cases:
  ///         - a column of RowOptions::columns is missing
  ///         - a column of RowOptions::all_of is missing or null
  ///         - RowOptions::one_of has names, and all of these columns are missing or null
  ///         - more than one column of RowOptions::one_of has a value
  ///         - a column that the job reads has the wrong type
  ///         - a cell of a column of lists is not JSON
  formats::JsonValue apply(const formats::JsonValue& row, bool has_cells) const;

  /// Returns whether each row must have a unique `id`.
  bool has_ids() const;

private:
  using Members = formats::JsonValue::Members;

  bool is_mapped(const std::string& ours) const;
  std::vector<std::string> theirs(const std::vector<std::string>& ours) const;
  Members rename(const Members& members) const;
  void drop(Members& members) const;
  void check(const formats::JsonValue& row) const;

  std::vector<std::pair<std::string, std::string>> columns_;  // (program's name, name in the file)
  // If RowOptions::columns maps a name of RowOptions::one_of, one_of_ has only the mapped names,
  // and left_out_ has the others. Otherwise one_of_ has all names.
  std::vector<std::string> one_of_;
  std::vector<std::string> left_out_;
  std::vector<std::string> all_of_;
  std::vector<std::string> checked_;  // columns whose type is checked
};

/// Returns the `id` of a row as a text: the text itself, or the digits of an integer; "" if the row
/// has no `id`.
std::string id_of(const formats::JsonValue& row);

}  // namespace mgpu::input
