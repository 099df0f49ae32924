#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// Adds the key output.keep_columns.
void add_keep_columns_key(KeyTable& table);

/// Reads this key; nullopt for `auto`.
std::optional<std::vector<std::string>> read_keep_columns(const Config& config);

/// Columns of the user's rows that a job copies to its results, as strings.
class KeptColumns {
public:
  KeptColumns() = default;

  /// Selects the columns of output.keep_columns; with nullopt those of `options.keeps` that the
  /// file has. For JSON the columns of the file are those of its first row. A name is either one of
  /// our names or the file's name of a column. `config` is for messages that point at the key.
  ///
  /// Ranks:  local; the same on all ranks.
  /// Errors: Failure E533 (exit 65) for a column that the file does not have; E107 (exit 78) for a
  ///         name that is empty, given twice, or contains a slash.
  KeptColumns(const Config& config, const std::optional<std::vector<std::string>>& keep_columns,
              const input::RowFile& file, const input::RowOptions& options);

  const std::vector<std::string>& names() const { return names_; }

  /// The values in a row. Strings stay unchanged and anything else becomes JSON; "" for null or a
  /// missing value.
  /// Shapes: [names().size()]; empty when the row cannot be read.
  std::vector<std::string> values_of(const input::Row& row) const;

private:
  std::vector<std::string> names_;    // as results call them
  std::vector<std::string> members_;  // as input::Row::object calls them
};

}  // namespace mgpu::rows
