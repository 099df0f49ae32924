#pragma once

#include <cstddef>

namespace mgpu::text {

/// Part of a text: a match of a pattern, or what lies between two.
struct Section {
  std::size_t begin, end;  // bytes
  bool is_match;
};

}  // namespace mgpu::text
