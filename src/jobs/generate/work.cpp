#include "work.hpp"

#include "table.hpp"

namespace mgpu::jobs {

CompletionWorker::CompletionWorker(const GenerateInputs& inputs, rows::PromptEncoder& encoder,
                                   const lm::ModelGroup& group, ScalarSink& scalars,
                                   rewards::WeightedRewards* rewards)
    : inputs_(inputs),
      encoder_(encoder),
      group_(group),
      scalars_(scalars),
      completer_(group.model(), encoder, inputs.config),
      rewards_(rewards) {}

/// Encodes rows. GenerateRun has already checked all prompts, so no row ends the run here.
std::vector<rows::EncodedPrompt> CompletionWorker::encode(std::int64_t first, std::int64_t count) {
  formats::LineProblems problems(inputs_.rows.path());
  std::vector<rows::EncodedPrompt> prompts = inputs_.encode(first, count, encoder_, problems);
  problems.throw_if_any(input::kBadRowHelp);
  return prompts;
}

std::vector<CompletedPrompt> CompletionWorker::work(std::span<const rows::EncodedPrompt> prompts,
                                                    std::int64_t first) {
  return completer_.run(prompts, first);
}

std::pair<rows::EncodedPrompt, CompletedPrompt> CompletionWorker::left_out(
    const std::string& reason) {
  rows::EncodedPrompt prompt;
  prompt.facts = {rows::RowStatus::bad_row, reason};
  return {prompt, {{}, prompt.facts}};
}

run::RowTokens CompletionWorker::tokens(const rows::EncodedPrompt& prompt,
                                        const CompletedPrompt& completed) const {
  run::RowTokens tokens{.input = std::ssize(prompt.ids)};
  for (const lm::Completion& completion : completed.result.completions)
    tokens.output += std::ssize(completion.ids);
  return tokens;
}

std::vector<std::byte> CompletionWorker::pack(std::int64_t first,
                                              std::span<const rows::EncodedPrompt> prompts,
                                              std::span<const CompletedPrompt> completed) {
  return completion_rows(inputs_, first, prompts, completed, encoder_, rewards_);
}

void CompletionWorker::write_scalars(const run::GroupWork& work) {
  if (inputs_.config.generation.max_new_tokens == 0) return;
  const std::int64_t completions = work.rows * inputs_.config.num_samples;
  scalars_.scalar("train/completions/mean_length", completions,
                  static_cast<double>(work.output_tokens) / static_cast<double>(completions));
}

}  // namespace mgpu::jobs
