#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

/// The one of `choices` that other programs call `text` ("float16" -> "fp16"), or "".
std::string translated_value(std::string_view text, const std::vector<std::string>& choices);

}  // namespace mgpu
