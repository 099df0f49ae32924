#pragma once

#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {

/// Brings what a file calls its columns under our names, and checks what has to be there.
class RowFields {
public:
  explicit RowFields(const RowOptions& options);

  /// For files whose rows all have the same columns.
  /// Errors: Failure E533 where one that is needed is not among them.
  void check_columns(const fs::path& path, const std::vector<std::string>& columns) const;

  /// The row under our names. `has_cells`: lists are texts of JSON.
  /// Errors: RowError where something that is needed is missing or of another kind.
  formats::JsonValue apply(const formats::JsonValue& row, bool has_cells) const;

  /// Whether ids have to differ.
  bool has_ids() const;

private:
  using Members = formats::JsonValue::Members;

  bool is_mapped(const std::string& ours) const;
  std::vector<std::string> theirs(const std::vector<std::string>& ours) const;
  Members rename(const Members& members) const;
  void drop(Members& members) const;
  void check(const formats::JsonValue& row) const;

  std::vector<std::pair<std::string, std::string>> columns_;  // ours, theirs
  std::vector<std::string> one_of_;                           // those that count
  std::vector<std::string> left_out_;                         // the others
  std::vector<std::string> all_of_;
  std::vector<std::string> checked_;  // whose kind is looked at
};

/// What tells apart rows: the text of `id`, or its digits.
std::string id_of(const formats::JsonValue& row);

}  // namespace mgpu::input
