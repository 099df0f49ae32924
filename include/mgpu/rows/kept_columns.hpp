#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// Adds the key output.keep_columns.
void add_keep_columns_key(KeyTable& table);

/// Reads the key output.keep_columns; nullopt for `auto`.
std::optional<std::vector<std::string>> read_keep_columns(const Config& config);

/// The columns of a data file that a job copies to its results, as texts.
class KeptColumns {
public:
  KeptColumns() = default;

  /// Selects the columns in `keep_columns`. If `keep_columns` is nullopt, selects the columns in
  /// `options.keeps` that the file has. For JSON, the columns of the file are those of its first
  /// row. A name is either this program's name of a column, such as `prompt` (RowOptions lists
  /// all), or the name in the file. `config` is for messages that point at the key
  /// output.keep_columns.
  ///
  /// Ranks:  local; equal arguments give the same columns on every rank.
  /// Errors: Failure E533 (exit 65) for a column that a CSV, TSV or Parquet file does not have.
  ///         Failure E107 (exit 78) for a name that is empty, given twice, longer than 200 bytes,
  ///         or contains a slash. The failures of RowFile::read() when it reads the first row of a
  ///         JSON file.
  KeptColumns(const Config& config, const std::optional<std::vector<std::string>>& keep_columns,
              const input::RowFile& file, const input::RowOptions& options);

  const std::vector<std::string>& names() const { return names_; }

  /// Returns the values of the selected columns in a row. Texts stay unchanged, and other values
  /// become JSON; null or a missing value becomes "".
  /// Shapes: [names().size()]; empty when the row cannot be read.
  std::vector<std::string> values_of(const input::Row& row) const;

private:
  std::vector<std::string> names_;    // names of the columns in results, without prefix `row_`
  std::vector<std::string> members_;  // names of the columns in input::Row::object
};

}  // namespace mgpu::rows
