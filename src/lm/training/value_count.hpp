#pragma once

#include <cstddef>
#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {

/// Checks that a vector has `expected` values or is empty; `count` is its size. An empty vector is
/// valid, because it means that all values are 0 or were not computed. `what` names the values in
/// the message.
/// Errors: ShapeError if the check fails.
inline void require_count(const char* what, std::size_t count, std::size_t expected) {
  if (count == 0 || count == expected) return;
  throw ShapeError(std::string(what) + ": " + std::to_string(count) + " values, not " +
                   std::to_string(expected));
}

}  // namespace mgpu::lm
