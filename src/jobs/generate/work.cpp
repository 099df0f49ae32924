#include "work.hpp"

namespace mgpu::jobs {

CompletionWorker::CompletionWorker(const GenerateInputs& inputs, rows::PromptEncoder& encoder,
                                   const lm::ModelGroup& group, const CompletionJudges& judges,
                                   ScalarSink& scalars)
    : inputs_(inputs),
      encoder_(encoder),
      group_(group),
      scalars_(scalars),
      completer_(group.model(), encoder, inputs.config),
      offsets_(judges.offsets),
      judges_{judges.rewards, judges.scorer} {
  if (inputs.keys.search && inputs.keys.search->has_beams())
    completer_.use_beams(*inputs.keys.search, judges.scorer);
  if (judges.reference == nullptr) return;
  const lm::GenerationConfig& generation = inputs.config.generation;
  const double temperature = generation.sampling.is_greedy ? 1.0 : generation.sampling.temperature;
  divergence_.emplace(group.model(), judges.reference->model(), temperature, generation.batch_size);
  if (offsets_ != nullptr) divergence_->use_offsets(*offsets_);
}

void CompletionWorker::set_batch_size(std::int64_t batch_size) {
  completer_.set_batch_size(batch_size);
  if (divergence_) divergence_->set_batch_size(batch_size);
}

/// Encodes rows. GenerateRun has already checked all prompts, so no row ends the run here.
std::vector<rows::EncodedPrompt> CompletionWorker::encode(std::int64_t first, std::int64_t count) {
  formats::LineProblems problems(inputs_.rows.path());
  std::vector<rows::EncodedPrompt> prompts = inputs_.encode(first, count, encoder_, problems);
  problems.throw_if_any(input::kBadRowHelp);
  return prompts;
}

std::vector<CompletedPrompt> CompletionWorker::work(std::span<const rows::EncodedPrompt> prompts,
                                                    std::int64_t first) {
  if (offsets_ != nullptr) offsets_->clear();
  std::vector<CompletedPrompt> completed = completer_.run(prompts, first);
  if (divergence_) compare(prompts, first, completed);
  return completed;
}

/// Computes KL(model || reference) for each token, with the offsets of the guide if there is a
/// guide. Replaces CompletedPrompt::divergences of each prompt by these values.
void CompletionWorker::compare(std::span<const rows::EncodedPrompt> prompts, std::int64_t first,
                               std::vector<CompletedPrompt>& completed) {
  std::vector<lm::SequenceDivergence::Sequence> sequences;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::span ids(prompts[i].ids);
    const auto begun = static_cast<std::size_t>(prompts[i].begun);
    std::uint64_t sample = completer_.sample_of(first + static_cast<std::int64_t>(i));
    for (const lm::Completion& completion : completed[i].result.completions)
      sequences.push_back(
          {ids.first(ids.size() - begun), completion.ids, sample++, prompts[i].begun});
  }
  const std::vector<std::vector<double>> all = divergence_->run(sequences);
  auto next = all.begin();
  for (CompletedPrompt& prompt : completed) {
    prompt.divergences.clear();
    for (std::size_t i = 0; i < prompt.result.completions.size(); ++i)
      prompt.divergences.push_back(*next++);
  }
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
  return completion_rows(inputs_, first, prompts, completed, encoder_, judges_);
}

void CompletionWorker::write_scalars(const run::GroupWork& work) {
  if (inputs_.config.generation.max_new_tokens == 0) return;
  const std::int64_t completions = work.rows * inputs_.config.num_samples;
  scalars_.scalar("train/completions/mean_length", completions,
                  static_cast<double>(work.output_tokens) / static_cast<double>(completions));
}

}  // namespace mgpu::jobs
