#pragma once

#include <cstdint>
#include <vector>

namespace mgpu::rows {

/// The tokens of a prompt and of a solution in steps.
struct StepTokens {
  std::vector<std::int64_t> ids{};
  /// Number of tokens up to the end of each step, with those of the prompt; ascending.
  std::vector<std::int64_t> ends{};
};

}  // namespace mgpu::rows
