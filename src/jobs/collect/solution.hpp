#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rows/text_steps.hpp>

#include "judge.hpp"

namespace mgpu::jobs {

/// A complete solution of a question: tokens, steps and answer.
struct Solution {
  lm::Completion completion{};
  std::vector<rows::TextStep> steps{};
  JudgedAnswer answer{};

  /// Returns the number of tokens of the first `count` steps.
  std::int64_t tokens_of(std::int64_t count) const {
    if (count == 0) return 0;
    const rows::TextStep& last = steps[static_cast<std::size_t>(count) - 1];
    return static_cast<std::int64_t>(last.first + last.count);
  }
};

}  // namespace mgpu::jobs
