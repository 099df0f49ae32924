#pragma once

#include <vector>

#include <mgpu/base/error_page.hpp>

namespace mgpu::app {

/// Returns the pages of all error codes of the program, in ascending order of the codes.
const std::vector<ErrorPage>& program_errors();

}  // namespace mgpu::app
