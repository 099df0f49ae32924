#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"
#include "settings.hpp"

namespace mgpu::recipes {

/// Post-training with rewards: the model samples completions of prompts, reward functions judge
/// them, and completions with higher rewards become more probable. A row has a prompt. It may have
/// the right `answer`, which some reward functions need.
class GrpoMethod final : public LmMethod {
public:
  /// The folder of the model to train, and whether training starts from the weights in the folder.
  struct Start {
    std::filesystem::path folder;
    bool has_weights = true;
  };

  GrpoMethod(GrpoSettings settings, Start start)
      : settings_(std::move(settings)), start_(std::move(start)), loss_(settings_) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Adds one example to `examples`: the prompt of the row.
  /// Errors: those of ExampleEncoder::add_prompt(); JsonError for messages that the reward model
  ///         cannot read.
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::int64_t items_together() const override { return settings_.group_size; }
  bool has_prompts_only() const override { return true; }
  bool needs_tokenizer() const override { return true; }  // reward functions judge texts

  void check_files(const Config& config, const std::filesystem::path& folder) const override;
  void check_weights(const Config& config) const override;
  /// Returns a checksum of the start weights (unless they are random) and of the reward model (if a
  /// reward uses one). A resumed run must have the same checksum.
  MethodData read(std::int64_t seq_len, std::int64_t vocab) const override;
  std::optional<TrainTask::DataPlace> data_place() const override;

  /// Opens the reward functions, and returns the SampledPolicy that samples and judges completions.
  /// Ranks:  collective over the world.
  /// Errors: those of the constructor of SampledPolicy.
  std::unique_ptr<OpenMethod> open(const run::RunContext& run, LmData& data) const override;
  std::vector<KeptTensor> kept_tensors() const override;

  const lm::TokenLoss& loss() const override { return loss_; }
  std::vector<ReportedValue> reported_values() const override {
    return reported_values_of(settings_);
  }
  std::string goal() const override {
    return settings_.refills > 0 ? "reward_before_refill" : "reward";
  }
  LossMeaning loss_meaning() const override;
  MethodCosts costs() const override;
  std::string banner() const override;
  std::string accuracy() const override { return "share of rewards above 0"; }
  std::string accuracy_scalar() const override { return "rewards/above_zero"; }

private:
  bool can_judge_messages() const;

  GrpoSettings settings_;
  Start start_;
  GrpoLoss loss_;
  mutable std::optional<bool> can_judge_messages_;  // unset: not yet looked up
};

}  // namespace mgpu::recipes
