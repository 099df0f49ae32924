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

/// The settings of recipe `ad`, read from the keys.
struct AdSettings {
  LoopSettings loop;
  ad::DataConfig data;
  ad::AdTransformerConfig model;
  EvaluateConfig evaluate;
  double label_smoothing = 0.0;  // share of the target probability spread over all actions

  /// Returns the size of a window (the part of a history that the model sees at a time) for
  /// histories of this shape.
  /// Errors: Failure E131 (exit 78) when a window would be too short to learn from.
  ad::WindowRules window_rules(const ad::HistoryShape& histories) const;
};

/// Reads the keys of recipe `ad`.
/// Errors: one Failure (exit 78) with all contradictions between keys.
AdSettings read_ad_settings(const Config& config);

}  // namespace mgpu::recipes
