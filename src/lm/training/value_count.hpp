#pragma once

#include <cstddef>
#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

/// Checks that a vector has `expected` values, or none. No values mean that all are 0 or were not
/// measured.
/// Errors: ShapeError.
inline void require_count(const char* what, std::size_t count, std::size_t expected) {
  if (count == 0 || count == expected) return;
  throw ShapeError(std::string(what) + ": " + std::to_string(count) + " values, not " +
                   std::to_string(expected));
}

}  // namespace mgpu::lm
