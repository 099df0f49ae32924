#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::input {

/// The object that a text is; integers that do not fit into 64 bits become texts of their digits.
/// Errors: RowError.
formats::JsonValue parse_row_object(std::string_view text);

/// Any JSON value, as a cell of a table holds it. Errors: RowError.
formats::JsonValue parse_cell(std::string_view text);

/// The text with quotes around integers that do not fit into 64 bits; nothing where there are none.
std::optional<std::string> quote_large_integers(std::string_view text);

}  // namespace mgpu::input
