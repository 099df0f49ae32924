#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/text/text_folder.hpp>

#include "loss.hpp"
#include "recipes/lm/data.hpp"
#include "recipes/lm/method.hpp"
#include "rollout_items.hpp"
#include "rollout_state.hpp"

namespace mgpu::recipes {

/// The loss of recipe `grpo`, with the objects that sample and judge completions.
class SampledPolicy final : public OpenMethod {
public:
  /// Opens the reward functions with rows::open_rewards(), and reads the tokenizer of `folder`.
  /// Moves the stop ids out of `data`.
  /// Ranks:  collective over the world.
  /// Errors: those of rows::open_rewards() and of the tokenizer, on all ranks.
  SampledPolicy(const run::RunContext& run, const GrpoSettings& settings, LmData& data,
                const std::filesystem::path& folder);

  const lm::TokenLoss& loss() const override { return loss_; }
  std::unique_ptr<lm::LmItems> make_items(const lm::LmWindows& windows) override;
  void begin(const lm::TrainableModel& start) override;
  std::vector<KeptTensor> kept_tensors() override { return state_.tensors(); }
  void before_save(const cluster::Group& world) override;
  void after_load() override;

private:
  std::string decoded(std::span<const std::int64_t> ids) const;

  GrpoSettings settings_;
  GrpoLoss loss_;
  PhaseClock& clock_;
  int rank_;  // in the world
  std::optional<text::TextFolder> folder_;
  std::unique_ptr<lm::ResidentModels> own_models_;  // nullptr: RunContext::models is used
  std::optional<rewards::WeightedRewards> rewards_;
  std::unique_ptr<lm::TrainableModel> start_;  // nullptr if GrpoSettings::beta is 0
  RolloutState state_;
  RolloutItems* items_ = nullptr;  // result of make_items()
};

}  // namespace mgpu::recipes
