#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {

/// Renames a file's columns to our names, and checks the required ones.
class RowFields {
public:
  explicit RowFields(const RowOptions& options);

  /// Checks files whose rows all have the same columns.
  /// Errors: Failure E533 when a required column is missing.
  void check_columns(const fs::path& path, const std::vector<std::string>& columns) const;

  /// Returns the row under our names. `has_cells`: the row is from CSV or TSV, whose lists are JSON
  /// texts.
  /// Errors: RowError when a required field is missing or has the wrong type.
  formats::JsonValue apply(const formats::JsonValue& row, bool has_cells) const;

  /// Returns whether ids must be unique.
  bool has_ids() const;

private:
  using Members = formats::JsonValue::Members;

  bool is_mapped(const std::string& ours) const;
  std::vector<std::string> theirs(const std::vector<std::string>& ours) const;
  Members rename(const Members& members) const;
  void drop(Members& members) const;
  void check(const formats::JsonValue& row) const;

  std::vector<std::pair<std::string, std::string>> columns_;  // ours, theirs
  std::vector<std::string> one_of_;                           // names of one_of that count
  std::vector<std::string> left_out_;                         // names of one_of that are ignored
  std::vector<std::string> all_of_;
  std::vector<std::string> checked_;  // columns whose type is checked
};

/// Returns the text that identifies a row: the text of `id`, or its digits.
std::string id_of(const formats::JsonValue& row);

}  // namespace mgpu::input
