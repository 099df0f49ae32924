#pragma once

#include <cstdint>
#include <vector>

namespace mgpu::rows {

/// The tokens of a prompt and of a solution in steps.
struct StepTokens {
  std::vector<std::int64_t> ids{};
  /// For each step, the number of tokens in `ids` up to the end of the step, including the prompt;
  /// ascending.
  std::vector<std::int64_t> ends{};
};

}  // namespace mgpu::rows
