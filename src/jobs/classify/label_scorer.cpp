#include "label_scorer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <mgpu/base/error.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kRetries = 2;

lm::GenerationConfig generation_of(const lm::LanguageModel& model, const ClassifyConfig& config,
                                   const PromptStrategy& strategy, std::int64_t batch_size,
                                   std::size_t round) {
  lm::GenerationConfig generation;
  generation.batch_size = batch_size;
  generation.max_new_tokens = config.generates ? strategy.max_tokens : 0;
  generation.stop_ids = model.config().generation.eos_ids;
  generation.sampling.is_greedy = strategy.temperature == 0.0;
  if (!generation.sampling.is_greedy) generation.sampling.temperature = strategy.temperature;
  generation.sampling.top_p = strategy.top_p;
  generation.sampling.seed = config.run.seed;
  generation.sampling.round = static_cast<std::uint32_t>(round);
  return generation;
}

/// Returns the softmax of `scores` at index `place`: the probability of the label at that index.
double softmax_at(const std::vector<double>& scores, std::size_t place) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0.0;
  for (const double score : scores)
    sum += std::exp(score - largest);
  return std::exp(scores[place] - largest) / sum;
}

std::vector<std::size_t> places_with_tokens(std::span<const ClassifySample> samples) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (!samples[i].ids.empty()) places.push_back(i);
  return places;
}

}  // namespace

GivenLabel best_label(std::span<const std::vector<float>> log_probs, const ClassifyConfig& config) {
  GivenLabel given;
  for (const std::vector<float>& tokens : log_probs) {
    const double sum = std::accumulate(tokens.begin(), tokens.end(), 0.0);
    given.label_scores.push_back(config.is_mean ? sum / static_cast<double>(tokens.size()) : sum);
  }
  const std::vector<double>& scores = given.label_scores;
  const auto best = std::ranges::max_element(scores);
  given.label = static_cast<std::int32_t>(best - scores.begin());
  given.score = *best;
  double second = -std::numeric_limits<double>::infinity();
  for (auto other = scores.begin(); other != scores.end(); ++other)
    if (other != best) second = std::max(second, *other);
  given.margin = given.score - second;
  given.positive = softmax_at(scores, config.positive);
  given.confidence = softmax_at(scores, static_cast<std::size_t>(given.label));
  given.output = config.labels[static_cast<std::size_t>(given.label)];
  return given;
}

LabelScorer::LabelScorer(const lm::LanguageModel& model, const ClassifyEncoder& encoder,
                         const ClassifyConfig& config, const PromptStrategy& strategy,
                         std::int64_t batch_size)
    : encoder_(encoder), config_(config), parser_(config.labels) {
  const bool retries = config.generates && config.on_unparsed == Unparsed::retry;
  if (retries && strategy.temperature == 0.0) {
    throw Failure({"E124",
                   ExitCode::config,
                   "classify.on_unparsed=retry draws the same answer again: strategy `" +
                       strategy.name + "` has temperature 0",
                   {"  --> " + config.prompt_file.string()},
                   "give the strategy a temperature, or classify.on_unparsed=count"});
  }
  for (std::size_t round = 0; round <= (retries ? kRetries : 0); ++round)
    generators_.emplace_back(model, generation_of(model, config, strategy, batch_size, round));
}

void LabelScorer::set_batch_size(std::int64_t batch_size) {
  for (lm::Generator& generator : generators_)
    generator.set_batch_size(batch_size);
}

std::vector<GivenLabel> LabelScorer::run(std::span<const ClassifySample> samples,
                                         std::int64_t first) {
  std::vector<GivenLabel> given(samples.size());
  if (!config_.generates) {
    score(samples, given);
    return given;
  }
  std::vector<std::size_t> places = places_with_tokens(samples);
  for (std::size_t round = 0; round < generators_.size() && !places.empty(); ++round)
    places = generate(samples, first, places, round, given);
  if (!places.empty() && config_.on_unparsed == Unparsed::error) {
    const std::size_t place = places.front();
    throw Failure({"E537",
                   ExitCode::data,
                   "the answer to row " + std::to_string(first + static_cast<std::int64_t>(place)) +
                       " names no label",
                   {"  " + given[place].output.substr(0, 200)},
                   "classify.on_unparsed=count goes on, and counts it as wrong"});
  }
  return given;
}

void LabelScorer::score(std::span<const ClassifySample> samples, std::vector<GivenLabel>& given) {
  std::vector<lm::Prompt> prompts;
  const std::vector<std::size_t> places = places_with_tokens(samples);
  for (const std::size_t place : places)
    prompts.push_back({.ids = samples[place].ids, .continuations = samples[place].continuations});
  const std::vector<lm::PromptResult> results = generators_.front().run(prompts);
  for (std::size_t i = 0; i < places.size(); ++i)
    given[places[i]] = best_label(results[i].continuation_log_probs, config_);
}

/// Generates answers for the samples with the indices `places`, with generators_[round]. Returns
/// the indices of the samples whose answer names no label, or several.
std::vector<std::size_t> LabelScorer::generate(std::span<const ClassifySample> samples,
                                               std::int64_t first,
                                               std::span<const std::size_t> places,
                                               std::size_t round, std::vector<GivenLabel>& given) {
  std::vector<lm::Prompt> prompts;
  for (const std::size_t place : places)
    prompts.push_back(
        {.sample = static_cast<std::uint64_t>(first) + place, .ids = samples[place].ids});
  const std::vector<lm::PromptResult> results = generators_[round].run(prompts);
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < places.size(); ++i) {
    given[places[i]] = read(results[i].completions.front());
    if (given[places[i]].label < 0) unknown.push_back(places[i]);
  }
  return unknown;
}

GivenLabel LabelScorer::read(const lm::Completion& completion) const {
  const text::Tokenizer& tokenizer = encoder_.folder().tokenizer;
  const auto decoded = [&](std::span<const std::int64_t> ids) {
    return tokenizer.decode(std::vector<text::TokenId>(ids.begin(), ids.end()), true);
  };
  ParsedAnswer parsed = parser_.parse(decoded(final_channel(completion.ids, tokenizer)));
  GivenLabel given;
  given.label = parsed.label;
  given.score = std::accumulate(completion.log_probs.begin(), completion.log_probs.end(), 0.0);
  given.positive = parsed.label < 0                                 ? 0.5
                   : std::cmp_equal(parsed.label, config_.positive) ? 1.0
                                                                    : 0.0;
  given.output_tokens = static_cast<std::int32_t>(completion.ids.size());
  given.output = decoded(completion.ids);
  given.rationale = std::move(parsed.rationale);
  return given;
}

}  // namespace mgpu::jobs
