#pragma once

#include <cstdint>
#include <memory>

#include <mgpu/ad/environment.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

/// Sizes of a run of recipe `ad` that follow from its keys, for --plan.
struct TrainSizes {
  explicit TrainSizes(const AdSettings& of);

  AdSettings settings;
  std::unique_ptr<ad::Environment> environment;
  ad::HistoryShape history;        // shape of the histories that a run without data.path plays
  std::int64_t window = 0;         // tokens of a window (ad::WindowRules)
  std::int64_t weight_bytes = 0;   // bytes of the float32 weights, with the gaps between parameters
  std::int64_t num_histories = 0;  // number of histories that a run without data.path plays
  std::int64_t num_rollouts = 0;   // rollouts of the final evaluation, under all controls
  std::int64_t history_bytes = 0;  // bytes of table `histories`
  std::int64_t rollout_bytes = 0;  // bytes of one rollout in results.h5
  std::int64_t curve_bytes = 0;    // bytes of the curves in a checkpoint

  /// Returns the floating-point operations of the layers in one forward pass over `tokens` tokens,
  /// in windows of `context` tokens with causal attention.
  double forward_flops(double tokens, double context) const;

  /// Returns the number of windows in the largest pass of rank 0, if `ranks` ranks share the global
  /// batch. No other rank has a larger pass.
  std::int64_t rows_at_once(int ranks, DeviceKind device) const;
};

}  // namespace mgpu::recipes
