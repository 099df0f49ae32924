#include "admission_queue.hpp"

#include <algorithm>
#include <iterator>

namespace mgpu::lm {
namespace {

std::int64_t pages_of(std::int64_t tokens, const GenerationConfig& config) {
  return (tokens + config.page_tokens - 1) / config.page_tokens;
}

}  // namespace

std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt) {
  const std::int64_t new_tokens = config.max_new_tokens - prompt.begun;
  if (model.rope.kind != RopeKind::none) return new_tokens;
  // The last token of a completion needs no position, because it is never an input.
  return std::min(new_tokens, model.max_positions - size_of(prompt) + 1);
}

std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt) {
  return size_of(prompt) + std::max<std::int64_t>(0, completion_limit(model, config, prompt) - 1);
}

std::int64_t pages_needed(const LmConfig& model, const GenerationConfig& config,
                          const Prompt& prompt) {
  std::int64_t pages = pages_of(cached_tokens(model, config, prompt), config);
  for (const std::vector<std::int64_t>& continuation : prompt.continuations)
    if (continuation.size() > 1)
      pages += pages_of(size_of(prompt) + std::ssize(continuation) - 1, config) -
               size_of(prompt) / config.page_tokens;
  return pages;
}

AdmissionQueue::AdmissionQueue(const LmConfig& model, std::span<const Prompt> prompts,
                               const GenerationConfig& config)
    : results(prompts.size()), model_(model), prompts_(prompts), config_(config) {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    unfinished_.push_back(prompts[p].num_samples);
    results[p].continuation_log_probs.resize(prompts[p].continuations.size());
    if (config.max_new_tokens > 0)
      results[p].completions.resize(static_cast<std::size_t>(prompts[p].num_samples));
  }
}

/// Returns how much a prompt contributes to ended(). Without continuations, this is the number of
/// completions that have ended. With continuations, it is num_samples when all continuations have
/// been scored, and 0 before.
std::int64_t AdmissionQueue::ended_of(std::size_t prompt) const {
  const std::int64_t all = prompts_[prompt].num_samples;
  if (prompts_[prompt].continuations.empty()) return all - unfinished_[prompt];
  return unfinished_[prompt] == 0 ? all : 0;
}

void AdmissionQueue::set_unfinished(std::size_t prompt, std::int64_t sequences) {
  ended_ -= ended_of(prompt);
  unfinished_[prompt] = sequences;
  ended_ += ended_of(prompt);
}

bool AdmissionQueue::end_sequence(std::size_t prompt) {
  set_unfinished(prompt, unfinished_[prompt] - 1);
  return unfinished_[prompt] == 0;
}

std::int64_t AdmissionQueue::pages_to_reserve(const Prompt& prompt) const {
  return pages_needed(model_, config_, prompt) - shared_prefix.pages;
}

std::int64_t AdmissionQueue::pages_to_reserve_for_fork(const Prompt& prompt) const {
  return pages_of(cached_tokens(model_, config_, prompt), config_) -
         size_of(prompt) / config_.page_tokens;
}

}  // namespace mgpu::lm
