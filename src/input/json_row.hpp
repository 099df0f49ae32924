#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::input {

/// Parses one object; integers beyond 64 bits become texts of their digits. Errors: RowError.
formats::JsonValue parse_row_object(std::string_view text);

/// Parses any JSON value, as in a cell of a table. Errors: RowError.
formats::JsonValue parse_cell(std::string_view text);

/// Puts quotes around integers beyond 64 bits; returns nothing without such integers.
std::optional<std::string> quote_large_integers(std::string_view text);

}  // namespace mgpu::input
