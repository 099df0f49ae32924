#pragma once

#include <cstdint>

#include <mgpu/base/config.hpp>
#include <mgpu/data/data_config.hpp>
#include <mgpu/data/history.hpp>
#include <mgpu/data/tokens.hpp>
#include <mgpu/jobs/evaluate_config.hpp>
#include <mgpu/model/ad_transformer_config.hpp>
#include <mgpu/store/checkpoint_config.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

namespace mgpu::jobs {

/// Everything that the keys say about job train.
struct TrainSettings {
  data::DataConfig data;
  model::AdTransformerConfig model;
  train::TrainConfig train;
  train::OptimizerConfig optimizer;
  EvaluateConfig evaluate;
  store::CheckpointConfig checkpoint;
  std::uint64_t seed = 0;

  /// Evaluations in the middle of the training.
  std::int64_t planned_evaluations() const;

  /// Errors: Failure E131 (exit 78) when the context is too short for such histories.
  data::WindowRules window_rules(const data::HistoryShape& histories) const;
};

/// Errors: Failures (exit 78) of all modules whose keys contradict each other, as one.
TrainSettings read_train_settings(const Config& config);

}  // namespace mgpu::jobs
