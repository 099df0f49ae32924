#pragma once

#include <cstddef>

namespace mgpu::text {

/// Part of a text: a match of a pattern, or the part between two matches.
struct Section {
  std::size_t begin, end;  // byte offsets in the text
  bool is_match;
};

}  // namespace mgpu::text
