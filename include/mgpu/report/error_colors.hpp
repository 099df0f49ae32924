#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// Adds colors to the text of an error report as render() formats it. The heads error[CODE], and
/// carets with the text after them, become red. The word help becomes cyan, and the arrow in front
/// of a place becomes blue.
std::string color_error(std::string_view rendered);

}  // namespace mgpu::report
