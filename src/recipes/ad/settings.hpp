#pragma once

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/data_config.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/tokens.hpp>
#include <mgpu/config/config.hpp>

#include "keys.hpp"
#include "recipes/loop_settings.hpp"

namespace mgpu::recipes {

/// The settings of recipe `ad`, read from all keys.
struct AdSettings : LoopSettings {
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
