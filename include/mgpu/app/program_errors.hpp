#pragma once

#include <vector>

#include <mgpu/base/error_page.hpp>

namespace mgpu::app {

/// Returns the texts that --explain prints, for all error codes of the program in ascending order.
const std::vector<ErrorPage>& program_errors();

}  // namespace mgpu::app
