#pragma once

#include <cstddef>
#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

/// Checks that a vector has `expected` values, or none. A vector without values means that all
/// values are 0 or were not measured. `what` names the values in the message.
/// Errors: ShapeError.
inline void require_count(const char* what, std::size_t count, std::size_t expected) {
  if (count == 0 || count == expected) return;
  throw ShapeError(std::string(what) + ": " + std::to_string(count) + " values, not " +
                   std::to_string(expected));
}

}  // namespace mgpu::lm
