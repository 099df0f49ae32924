#pragma once

#include <cstddef>
#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

/// Accepts either no values, which means all 0 or not measured, or `expected` values.
/// Errors: ShapeError.
inline void require_count(const char* what, std::size_t count, std::size_t expected) {
  if (count == 0 || count == expected) return;
  throw ShapeError(std::string(what) + ": " + std::to_string(count) + " values, not " +
                   std::to_string(expected));
}

}  // namespace mgpu::lm
