#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// Adds colors to the text of an error report as render() formats it. Codes and carets become red,
/// the word help becomes cyan, and places become blue.
std::string color_error(std::string_view rendered);

}  // namespace mgpu::report
