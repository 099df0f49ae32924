#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::input {

/// Parses one JSON object. Integers that do not fit std::int64_t become JSON strings.
/// Errors: RowError if `text` is not one JSON object.
formats::JsonValue parse_row_object(std::string_view text);

/// Parses any JSON value, as in a cell of a table. Errors: RowError if `text` is not one JSON
/// value.
formats::JsonValue parse_cell(std::string_view text);

/// Returns the JSON text with quotes around integers that do not fit std::int64_t; nullopt if it
/// has no such integers.
std::optional<std::string> quote_large_integers(std::string_view text);

}  // namespace mgpu::input
