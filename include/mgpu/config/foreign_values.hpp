#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// Returns the one of `choices` that other programs call `text`, such as "fp16" for "float16"; ""
/// if no choice is known by that name.
std::string translated_value(std::string_view text, const std::vector<std::string>& choices);

}  // namespace mgpu
