#pragma once

#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/input/row_file.hpp>

namespace mgpu::rows {

/// The key output.keep_columns.
void add_keep_columns_key(KeyTable& table);

/// Columns of the user's rows that a job's results keep, as texts.
class KeptColumns {
public:
  KeptColumns() = default;

  /// Those of output.keep_columns; with `auto` those of `standard` that the file has, which for
  /// JSON are those of its first row. A name is one of ours, or what the file calls a column.
  ///
  /// Ranks:  local; the same on all ranks.
  /// Errors: Failure E533 (exit 65) for a column that the file does not have; E107 (exit 78) for a
  ///         name that is empty, doubled, or has a slash.
  KeptColumns(const Config& config, const input::RowFile& file, const input::RowOptions& options,
              const std::vector<std::string>& standard);

  const std::vector<std::string>& names() const { return names_; }

  /// The values in a row: texts as they are, anything else as JSON; "" for null or nothing.
  /// Shapes: [names().size()]; none where the row cannot be read.
  std::vector<std::string> values_of(const input::Row& row) const;

private:
  std::vector<std::string> names_;    // as results call them
  std::vector<std::string> members_;  // as input::Row::object calls them
};

}  // namespace mgpu::rows
