#pragma once

#include <string>
#include <string_view>

namespace mgpu::report {

/// Adds colors to the text of an error report as render() formats it. The text error[CODE] becomes
/// red, as do the carets (^) and the text after them. The word help becomes cyan. The arrow (-->)
/// in front of a place becomes blue.
std::string color_error(std::string_view rendered);

}  // namespace mgpu::report
