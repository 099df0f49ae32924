#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/generator.hpp>

namespace mgpu::lm {

/// Compares a completion with the tokens of transformers. They are the whole completion if they end
/// with a stop id or reach the config's limit. Otherwise they were cut before a step whose two best
/// scores are close (tests/oracle/generation.py).
inline void expect_golden(const Completion& completion, const std::vector<std::int64_t>& expected,
                          const GenerationConfig& config) {
  ASSERT_FALSE(expected.empty());
  const auto& stops = config.stop_ids;
  const bool is_stopped = std::find(stops.begin(), stops.end(), expected.back()) != stops.end();
  const bool is_cut = !is_stopped && std::ssize(expected) < config.max_new_tokens;
  std::vector<std::int64_t> ids = completion.ids;
  if (is_cut) ids.resize(std::min(ids.size(), expected.size()));
  EXPECT_EQ(ids, expected);
  if (is_cut) return;
  EXPECT_EQ(completion.reason, is_stopped ? FinishReason::stop_id : FinishReason::length);
}

}  // namespace mgpu::lm
