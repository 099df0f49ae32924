#pragma once

#include <cstddef>

namespace mgpu::text {

/// A part of a text after a search for a pattern: a match, or the text before, between or after
/// matches.
struct Section {
  std::size_t begin, end;  // byte offsets in the text
  bool is_match;
};

}  // namespace mgpu::text
