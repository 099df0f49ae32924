#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

#include "search.hpp"

namespace mgpu::jobs {

/// A completion that a search scores, with its prompt. `prompt` and the spans refer to objects that
/// must outlive this object.
struct SearchedCompletion {
  const rows::EncodedPrompt* prompt = nullptr;
  std::span<const std::int64_t> prompt_ids{};
  std::span<const std::int64_t> ids{};  // tokens of the completion, at least one
  std::string text{};                   // text of the completion; only reward models read it
};

/// The score of a completion, from 0 to 1. It is NaN if the completion cannot be scored.
struct CompletionScore {
  double score = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> steps{};  // probability of each step; empty for a reward model
};

/// Scores completions with the model of generate.reward.path. On the CPU, a score depends only on
/// the completion and its prompt, not on other completions.
///
/// A process reward model gives each step a probability. It reads either the sampled tokens or
/// texts, as in its training. In the second case, the texts of the prompt and the steps are
/// tokenized again, with a separator after each step. A reward model gives each completion one
/// number; the score is the logistic function of that number. A completion has no score if the
/// model has fewer learned positions than the prompt and the completion have tokens. It also has no
/// score if the model's tokenizer or chat template refuses the text of the completion or its
/// prompt.
class CompletionScorer {
public:
  CompletionScorer() = default;
  CompletionScorer(const CompletionScorer&) = delete;
  CompletionScorer& operator=(const CompletionScorer&) = delete;
  CompletionScorer(CompletionScorer&&) = delete;
  CompletionScorer& operator=(CompletionScorer&&) = delete;
  virtual ~CompletionScorer() = default;

  /// Returns the score of each completion.
  virtual std::vector<CompletionScore> score(std::span<const SearchedCompletion> completions) = 0;
};

/// Opens the model of generate.reward.path on `device`. If `models` is not nullptr, the ranks of a
/// node share the weights of this model. `model` is the folder of the model that generates the
/// completions, and `encoder` has the tokenizer of this folder. `keys` and `encoder` must outlive
/// the result.
/// Ranks:  local.
/// Errors: Failure E603 if steps are lines and `model` has no tokenizer; those of
///         lm::StepScorer::open() and rows::open_rewards().
std::unique_ptr<CompletionScorer> open_scorer(const SearchKeys& keys,
                                              const rows::PromptEncoder& encoder,
                                              const std::filesystem::path& model, Device device,
                                              lm::ResidentModels* models);

/// Returns settings for the functions of rows/reward_model.hpp. The only reward in these settings
/// is `model`, with the model of generate.reward.path.
rewards::RewardSettings reward_settings_of(const SearchKeys& keys);

/// Returns the score of a completion, computed from the probabilities of its steps. There must be
/// at least one step.
double aggregate_of(StepAggregate aggregate, std::span<const double> steps);

}  // namespace mgpu::jobs
