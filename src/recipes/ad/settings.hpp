#pragma once

#include <cstdint>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/data_config.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/tokens.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/recipes/loop_settings.hpp>

#include "keys.hpp"

namespace mgpu::recipes {

/// Everything that the keys say about recipe `ad`.
struct AdSettings {
  LoopSettings loop;
  ad::DataConfig data;
  ad::AdTransformerConfig model;
  EvaluateConfig evaluate;
  double label_smoothing = 0.0;  // share of the target spread over all actions

  /// Errors: Failure E131 (exit 78) when the context is too short for such histories.
  ad::WindowRules window_rules(const ad::HistoryShape& histories) const;
};

/// Errors: one Failure (exit 78) with all contradictions between keys, of all modules.
AdSettings read_ad_settings(const Config& config);

}  // namespace mgpu::recipes
