#pragma once

#include <optional>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::recipes {

/// Returns `value` as a number. The value may be a number, true (1), false (0), or the text of a
/// number, as in CSV files. Returns nullopt for other values.
std::optional<double> number_of(const formats::JsonValue& value);

}  // namespace mgpu::recipes
