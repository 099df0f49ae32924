#pragma once

#include <cstdint>
#include <memory>

#include <mgpu/ad/environment.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

/// Sizes of a run of job train that follow from its keys, for the plan.
struct TrainSizes {
  explicit TrainSizes(const AdSettings& of);

  AdSettings settings;
  std::unique_ptr<ad::Environment> environment;
  ad::HistoryShape history;  // of the generated histories; those of a file are assumed to be equal
  std::int64_t window = 0;   // tokens of a row of the batch
  std::int64_t weight_bytes = 0;   // float32, the arena's gaps included
  std::int64_t num_histories = 0;  //
  std::int64_t num_rollouts = 0;   // of the final evaluation, for all controls
  std::int64_t history_bytes = 0;  // all histories in memory
  std::int64_t rollout_bytes = 0;  // rows of results.h5 for one rollout
  std::int64_t curve_bytes = 0;    // in each checkpoint

  /// Floating-point operations of one forward pass over `tokens` tokens with a context of
  /// `context`.
  double forward_flops(double tokens, double context) const;

  /// Upper bound of the rows that a rank passes through the model at once.
  std::int64_t rows_at_once(int ranks) const;
};

}  // namespace mgpu::recipes
