#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// Translates a value that other programs use into one of `choices`, such as "float16" into "fp16".
/// Returns "" if none of the choices is known to correspond to `text`.
std::string translated_value(std::string_view text, const std::vector<std::string>& choices);

}  // namespace mgpu
