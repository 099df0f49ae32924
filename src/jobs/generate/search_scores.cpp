#include "search_scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include <mgpu/lm/forward/step_scorer.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::jobs {
namespace {

/// Scores completions by the steps that a process reward model judges.
class StepwiseScorer final : public CompletionScorer {
public:
  StepwiseScorer(const SearchKeys& keys, const rows::PromptEncoder& drawn, Device device,
                 lm::ResidentModels* models)
      : keys_(keys), drawn_(drawn), scorer_(lm::StepScorer::open(keys.folder, device, models)) {
    if (scorer_.head().place == lm::StepPlace::last_token) return;
    const std::int64_t vocab = scorer_.config().vocab;
    encoder_.emplace(
        rows::parse_tokenizer_files(text::read_text_files(keys.folder), keys.folder, vocab),
        rows::RowEncoder::Options{.vocab = vocab, .folder = keys.folder});
  }

  std::vector<CompletionScore> score(std::span<const SearchedCompletion> completions) override {
    std::vector<CompletionScore> scores(completions.size());
    std::vector<lm::SteppedSequence> sequences;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < completions.size(); ++i) {
      lm::SteppedSequence sequence = sequence_of(completions[i]);
      if (sequence.ends.empty() || is_beyond_positions(sequence)) continue;
      sequences.push_back(std::move(sequence));
      places.push_back(i);
    }
    std::vector<std::vector<double>> found = scorer_.score(sequences);
    for (std::size_t i = 0; i < places.size(); ++i)
      scores[places[i]] = {aggregate_of(keys_.aggregate, found[i]), std::move(found[i])};
    return scores;
  }

private:
  /// Returns the tokens that the process reward model reads, and the ends of the steps in these
  /// tokens. The result has no steps if the text cannot be encoded.
  lm::SteppedSequence sequence_of(const SearchedCompletion& completion) const {
    const std::vector<rows::TextStep> steps =
        rows::split_into_steps(completion.ids, keys_.steps, drawn_.tokenizer());
    if (encoder_) return sequence_of_texts(completion.prompt->text, steps);
    lm::SteppedSequence sequence{{completion.prompt_ids.begin(), completion.prompt_ids.end()}, {}};
    const std::int64_t before = std::ssize(sequence.ids);
    sequence.ids.insert(sequence.ids.end(), completion.ids.begin(), completion.ids.end());
    for (const rows::TextStep& step : steps)
      sequence.ends.push_back(before + static_cast<std::int64_t>(step.first + step.count));
    return sequence;
  }

  /// Encodes the texts of the prompt and the steps. If steps are lines, white space at the end of
  /// each step is removed, as in --export trl.
  lm::SteppedSequence sequence_of_texts(const std::string& prompt,
                                        std::span<const rows::TextStep> steps) const {
    std::vector<std::string> texts;
    for (const rows::TextStep& step : steps) {
      texts.push_back(step.text);
      if (keys_.steps.step_tokens == 0)
        texts.back().erase(texts.back().find_last_not_of(" \t\r\n\v\f") + 1);
    }
    rows::StepTokens tokens;
    rows::problem_of(
        [&] { tokens = encoder_->encode_steps(prompt, texts, scorer_.head().separator); });
    return {std::move(tokens.ids), std::move(tokens.ends)};
  }

  bool is_beyond_positions(const lm::SteppedSequence& sequence) const {
    const lm::LmConfig& config = scorer_.config();
    return config.rope.kind == lm::RopeKind::none && sequence.ends.back() > config.max_positions;
  }

  const SearchKeys& keys_;
  const rows::PromptEncoder& drawn_;
  lm::StepScorer scorer_;
  std::optional<rows::RowEncoder> encoder_;  // nullopt: scorer_ reads the drawn tokens
};

/// Scores completions with a reward model.
class WholeScorer final : public CompletionScorer {
public:
  explicit WholeScorer(rewards::WeightedRewards rewards) : rewards_(std::move(rewards)) {}

  std::vector<CompletionScore> score(std::span<const SearchedCompletion> completions) override {
    std::vector<rewards::RewardRow> rows;
    for (const SearchedCompletion& completion : completions)
      rows.push_back({completion.prompt->text, completion.text, completion.prompt->answer,
                      completion.prompt->messages});
    std::vector<CompletionScore> scores;
    for (const double reward : rewards_.score(rows).total)
      scores.push_back({1.0 / (1.0 + std::exp(-reward)), {}});
    return scores;
  }

private:
  rewards::WeightedRewards rewards_;
};

}  // namespace

std::unique_ptr<CompletionScorer> open_scorer(const SearchKeys& keys,
                                              const rows::PromptEncoder& encoder,
                                              const std::filesystem::path& model, Device device,
                                              lm::ResidentModels* models) {
  if (!judges_steps(keys))
    return std::make_unique<WholeScorer>(
        rows::open_rewards(reward_settings_of(keys), device, models));
  if (encoder.tokenizer() == nullptr && keys.steps.step_tokens == 0)
    rows::refuse_absent_tokenizer(model, "generate.search with lines as steps");
  return std::make_unique<StepwiseScorer>(keys, encoder, device, models);
}

rewards::RewardSettings reward_settings_of(const SearchKeys& keys) {
  return {.names = {"model"},
          .weights = {1.0},
          .model = keys.folder,
          .model_key = "generate.reward.path"};
}

double aggregate_of(StepAggregate aggregate, std::span<const double> steps) {
  if (aggregate == StepAggregate::last) return steps.back();
  if (aggregate == StepAggregate::min) return *std::ranges::min_element(steps);
  return std::accumulate(steps.begin(), steps.end(), 1.0, std::multiplies());
}

}  // namespace mgpu::jobs
