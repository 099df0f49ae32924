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

/// Columns of the user's rows that a job copies to its results, as strings.
class KeptColumns {
public:
  KeptColumns() = default;

  /// Selects the columns in `keep_columns`; if it is nullopt, the columns of `options.keeps` that
  /// the file has. For JSON the columns of the file are those of its first row. A name is one of
  /// our names (see RowOptions) or the file's name of a column. `config` is for messages that point
  /// at the key.
  ///
  /// Ranks:  local; the same on all ranks.
  /// Errors: Failure E533 (exit 65) for a column that the file does not have; E107 (exit 78) for a
  ///         name that is empty, given twice, or contains a slash.
  KeptColumns(const Config& config, const std::optional<std::vector<std::string>>& keep_columns,
              const input::RowFile& file, const input::RowOptions& options);

  const std::vector<std::string>& names() const { return names_; }

  /// Returns the values of the selected columns in a row. Strings stay unchanged, and anything else
  /// becomes JSON; "" for null or a missing value.
  /// Shapes: [names().size()]; empty when the row cannot be read.
  std::vector<std::string> values_of(const input::Row& row) const;

private:
  std::vector<std::string> names_;    // names of the columns in results
  std::vector<std::string> members_;  // their names in input::Row::object
};

}  // namespace mgpu::rows
