#pragma once

#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/sampler.hpp>

namespace mgpu::lm {

/// The results of the vocabulary head for one pass.
struct PassOutcome {
  std::vector<float> scores;           // log-probabilities for HeadRequests::scored, in order
  std::vector<DrawnToken> tokens;      // one per sequence of the draw
  std::optional<ErrorReport> failure;  // failure of a rank; if set, ignore scores and tokens
};

std::string to_bytes(const PassOutcome& outcome);
PassOutcome outcome_from_bytes(const std::string& bytes);

}  // namespace mgpu::lm
