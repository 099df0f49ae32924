#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mgpu::store {

/// Reads a part of a file name: `prefix` and a number of 4 to 9 digits, as in "attempt_0003".
/// Removes both from the front of `name`; returns nullopt and changes nothing if they are not
/// there.
std::optional<std::uint32_t> take_file_number(std::string_view& name, std::string_view prefix);

}  // namespace mgpu::store
