#pragma once

#include <cstddef>
#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

/// Checks that the number `count` of a vector's values is `expected` or 0. An empty vector is
/// valid, because it means that all values are 0 or were not computed. `what` names the values in
/// the message.
/// Errors: ShapeError if the check fails.
inline void require_count(const char* what, std::size_t count, std::size_t expected) {
  if (count == 0 || count == expected) return;
  throw ShapeError(std::string(what) + ": " + std::to_string(count) + " values, not " +
                   std::to_string(expected));
}

}  // namespace mgpu::lm
