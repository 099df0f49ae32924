#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::rows {

/// The placeholder for the text of a row. Every prompt template must contain this placeholder.
inline constexpr const char* kTextColumn = "{text}";

/// Pairs of this program's name of a column and the name of that column in the data file, as in
/// input::RowOptions::columns.
using ColumnNames = std::vector<std::pair<std::string, std::string>>;

/// Returns a template without the line breaks at its end, which a block scalar in YAML adds.
std::string without_last_breaks(const std::string& text);

/// Replaces each {column} of a template by the value of this column in `row`. As in Python, {{ and
/// }} stand for single braces. Any other brace that is not part of {column} stays unchanged. A
/// template may use this program's name of a column or the name in the file.
///
/// Errors: formats::JsonError for a column that is missing or null in the row, or that is a list or
///         an object.
std::string fill_template(const std::string& text, const formats::JsonValue& row,
                          const ColumnNames& columns);

/// Formats a value that is a text, a number or a boolean.
/// Errors: formats::JsonError for a list, an object or null.
std::string scalar_text(const formats::JsonValue& value);

/// Returns the data file's name for the column that this program calls `name`.
std::string name_in_file(const std::string& name, const ColumnNames& columns);

/// Returns the text to append to `prompt` for a label: the label, with a space before it if
/// necessary. No space is added if the prompt is empty, or ends in white space, a quote, an opening
/// bracket, a slash, `<`, `>` or `|`.
std::string label_after(const std::string& prompt, const std::string& label);

/// The names of labels, and the values that stand for these names in the label column of the data.
struct LabelNames {
  std::vector<std::string> names;
  std::vector<std::string> values{};  // one for each name; empty: the data contain the names

  /// Returns the index of the label of a row.
  /// Errors: formats::JsonError if the label is missing or null, is a list or an object, or stands
  ///         for no name. In the last case the message contains the column's name in the file, the
  ///         value, and the first 12 allowed values.
  std::size_t label_of(const formats::JsonValue& row, const ColumnNames& columns) const;
};

/// Turns rows with a text and a label into rows of training data. The prompt of such a row asks for
/// the label in the same way as job classify does.
struct RowTemplate {
  std::string text;                  // the template of the prompt
  std::optional<LabelNames> labels;  // nullopt: the completion is the value of the label column
  ColumnNames columns;

  /// Returns a row with `messages` if `is_chat` is true, otherwise a row with `prompt` and
  /// `completion`. Pass true if the model's folder has a chat template.
  /// Errors: formats::JsonError if the row cannot be used.
  formats::JsonValue apply(const formats::JsonValue& row, bool is_chat) const;
};

}  // namespace mgpu::rows
