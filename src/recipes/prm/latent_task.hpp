#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mgpu/run/run_context.hpp>

#include "latent_objective.hpp"
#include "recipes/trainer.hpp"

namespace mgpu::recipes {

/// The settings of recipe prm for latent states.
struct LatentSettings {
  LoopSettings loop;
  PrmSettings prm;
  std::string path;  // data.path
};

/// A training of a reward head for latent states: the head, the nodes, and the evaluation on nodes
/// of held-out questions.
class LatentTask final : public TrainTask {
public:
  /// Keeps references to `run`, `settings` and `data`, which must outlive this object.
  LatentTask(run::RunContext& run, const LatentSettings& settings, const LatentData& data);

  train::Objective& objective() override { return objective_; }
  std::uint32_t data_crc() const override { return data_.crc; }
  DataPlace data_place() const override {
    return {"the file of `data.path`", "latent states", settings_.path};
  }
  std::map<std::string, std::string> model_files() const override {
    return {{"config.json", head_.config()}};
  }
  Evaluation evaluate(std::int64_t step) override;

  const LatentHead& head() const { return head_; }
  std::uint64_t epoch_size() const { return objective_.epoch_size(); }

private:
  std::vector<float> held_out_logits();

  run::RunContext& run_;
  const LatentSettings& settings_;
  const LatentData& data_;
  LatentHead head_;
  LatentObjective objective_;
};

/// Returns the width of the hidden layer. This is `chosen` if it is above 0. Otherwise the width is
/// half the number of inputs, but at least 1.
std::int64_t hidden_width(std::int64_t chosen, std::int64_t inputs);

}  // namespace mgpu::recipes
