#include "completions.hpp"

#include <limits>
#include <utility>

namespace mgpu::jobs {
namespace {

/// Inserts the last `prompt.begun` tokens of the prompt at the start of each completion, because
/// these tokens belong to the completion. Moves their log-probabilities from the prompt to the
/// completions.
void add_beginning(const rows::EncodedPrompt& prompt, lm::PromptResult& result) {
  if (prompt.begun == 0) return;
  const auto ids = std::span(prompt.ids).last(static_cast<std::size_t>(prompt.begun));
  const auto scores = result.prompt_log_probs.end() - prompt.begun;
  for (lm::Completion& completion : result.completions) {
    completion.ids.insert(completion.ids.begin(), ids.begin(), ids.end());
    completion.log_probs.insert(completion.log_probs.begin(), scores,
                                result.prompt_log_probs.end());
    if (!completion.divergences.empty())
      completion.divergences.insert(completion.divergences.begin(), ids.size(),
                                    std::numeric_limits<double>::quiet_NaN());
  }
  result.prompt_log_probs.erase(scores, result.prompt_log_probs.end());
}

lm::StopText stop_text(std::optional<rows::StopStrings>& stops) {
  if (!stops) return {};
  return [&stops](std::uint64_t sample, std::span<const std::int64_t> ids) {
    return stops->is_reached(sample, ids);
  };
}

std::optional<rows::StopStrings> stop_strings(const rows::PromptEncoder& encoder,
                                              const GenerateConfig& config) {
  if (config.stops.empty()) return std::nullopt;
  if (encoder.tokenizer() == nullptr) rows::refuse_absent_tokenizer(config.model, "generate.stop");
  return rows::StopStrings(*encoder.tokenizer(), config.stops);
}

}  // namespace

Completer::Completer(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
                     const GenerateConfig& config)
    : model_(model),
      encoder_(encoder),
      config_(config),
      num_samples_(config.num_samples),
      has_guide_(config.generation.processors.candidate != nullptr),
      stops_(stop_strings(encoder, config)),
      generator_(model, config.generation, stop_text(stops_)) {
  if (!config.first_greedy) return;
  lm::GenerationConfig greedy = config.generation;
  greedy.sampling.is_greedy = true;
  greedy.scores_prompts = false;
  greedy_.emplace(model, greedy, stop_text(stops_));
}

void Completer::use_beams(const SearchKeys& keys, CompletionScorer* scorer) {
  beams_.emplace(model_, encoder_, config_, keys, scorer);
  lm::GenerationConfig scores_only = config_.generation;
  scores_only.max_new_tokens = 0;
  generator_ = lm::Generator(model_, scores_only);
}

void Completer::set_batch_size(std::int64_t batch_size) {
  generator_.set_batch_size(batch_size);
  if (greedy_) greedy_->set_batch_size(batch_size);
  if (beams_) beams_->set_batch_size(batch_size);
}

void Completer::set_progress(const lm::SeeProgress& see) {
  if (beams_)
    beams_->set_progress(see);
  else
    generator_.set_progress(see);
  if (greedy_) greedy_->set_progress(see);
  see_progress_ = see;
}

/// Completes prompts greedily, and then draws their other completions. --plan counts one KV cache,
/// so the cache of each generator is freed before the other allocates one.
std::vector<lm::PromptResult> Completer::greedy_and_drawn(std::span<const lm::Prompt> work) {
  std::vector<lm::Prompt> prompts(work.begin(), work.end());
  for (lm::Prompt& prompt : prompts)
    prompt.num_samples = 1;
  generator_.free_cache();
  std::vector<lm::PromptResult> greedy = greedy_->run(prompts);
  greedy_->free_cache();
  for (lm::Prompt& prompt : prompts) {
    prompt.num_samples = num_samples_ - 1;
    ++prompt.sample;
  }
  if (see_progress_)
    generator_.set_progress(
        [this, before = std::ssize(work)](std::int64_t ended) { see_progress_(before + ended); });
  std::vector<lm::PromptResult> results = generator_.run(prompts);
  for (std::size_t w = 0; w < results.size(); ++w)
    results[w].completions.insert(results[w].completions.begin(),
                                  std::move(greedy[w].completions.at(0)));
  return results;
}

/// Completes the prompts in `work`. places[w] is the index in `prompts` of the prompt work[w].
std::vector<lm::PromptResult> Completer::results_of(std::span<const rows::EncodedPrompt> prompts,
                                                    std::span<const std::size_t> places,
                                                    std::span<const lm::Prompt> work) {
  if (greedy_) return greedy_and_drawn(work);
  if (!beams_) return generator_.run(work);
  std::vector<BeamPrompt> begun;
  for (std::size_t w = 0; w < work.size(); ++w)
    begun.push_back({&prompts[places[w]], work[w].sample});
  if (!config_.generation.scores_prompts) return beams_->run(begun);
  // --plan counts one KV cache. So the cache of `beams_` is freed before `generator_` allocates a
  // cache, and the cache of `generator_` before `beams_` allocates one.
  beams_->free_cache();
  std::vector<lm::PromptResult> scored = generator_.run(work);
  generator_.free_cache();
  std::vector<lm::PromptResult> results = beams_->run(begun);
  for (std::size_t w = 0; w < work.size(); ++w)
    results[w].prompt_log_probs = std::move(scored[w].prompt_log_probs);
  return results;
}

rows::RowFacts Completer::facts_of(const rows::EncodedPrompt& prompt) const {
  rows::RowFacts facts = prompt.facts;
  const lm::LmConfig& config = model_.config();
  const auto tokens = static_cast<std::int64_t>(prompt.ids.size());
  if (config.rope.kind != lm::RopeKind::none || tokens <= config.max_positions) return facts;
  facts.status = rows::RowStatus::too_long;
  facts.reason = std::to_string(tokens) + " tokens in a model of " +
                 std::to_string(config.max_positions) + " positions";
  return facts;
}

std::vector<CompletedPrompt> Completer::run(std::span<const rows::EncodedPrompt> prompts,
                                            std::int64_t first) {
  std::vector<CompletedPrompt> completed(prompts.size());
  std::vector<lm::Prompt> work;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    completed[i].facts = facts_of(prompts[i]);
    if (completed[i].facts.status != rows::RowStatus::ok) continue;
    work.push_back({sample_of(first + static_cast<std::int64_t>(i)),
                    prompts[i].ids,
                    num_samples_,
                    {},
                    prompts[i].begun});
    places.push_back(i);
  }
  if (stops_) stops_->clear();
  std::vector<lm::PromptResult> results = results_of(prompts, places, work);
  for (std::size_t w = 0; w < work.size(); ++w) {
    add_beginning(prompts[places[w]], results[w]);
    CompletedPrompt& prompt = completed[places[w]];
    prompt.result = std::move(results[w]);
    if (!has_guide_) continue;
    for (lm::Completion& completion : prompt.result.completions)
      prompt.divergences.push_back(std::move(completion.divergences));
  }
  return completed;
}

}  // namespace mgpu::jobs
