#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>

namespace mgpu::lm {

inline std::int64_t size_of(const Prompt& prompt) {
  return static_cast<std::int64_t>(prompt.ids.size());
}

/// How many tokens a completion may have: max_new_tokens, or what learned positions leave.
std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt);

/// Tokens that a prompt with one completion puts into the cache.
std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt);

/// Pages that a prompt with one completion, or with its continuations, takes at most.
std::int64_t pages_needed(const LmConfig& model, const GenerationConfig& config,
                          const Prompt& prompt);

/// A beginning that all prompts share, as whole pages.
struct SharedBeginning {
  std::int64_t pages = 0;      // 0: there is none
  std::int64_t sequence = -1;  // in the cache, once the first prompt has gone so far
};

/// Pages that are promised to sequences before they begin, so that none is ever stuck.
class PageBudget {
public:
  explicit PageBudget(std::int64_t pages) : free_(pages) {}

  /// False, and nothing promised, when there are fewer pages.
  bool promise(std::int64_t pages) {
    if (pages > free_) return false;
    free_ -= pages;
    return true;
  }
  void give_back(std::int64_t pages) { free_ += pages; }

private:
  std::int64_t free_;
};

/// The prompts of one run of a Generator, and what came of them. Its batches take prompts in their
/// order.
class AdmissionQueue {
public:
  AdmissionQueue(const LmConfig& model, std::span<const Prompt> prompts,
                 const GenerationConfig& config);

  const Prompt& prompt(std::size_t index) const { return prompts_[index]; }
  bool is_empty() const { return next_ == prompts_.size(); }

  /// Whether the next prompt waits until the first one has made the beginning that they share.
  bool waits_for_beginning() const {
    return beginning.sequence < 0 && beginning.pages > 0 && next_ > 0;
  }
  const Prompt& next() const { return prompts_[next_]; }
  std::size_t take() { return next_++; }

  /// Pages that a prompt with its first completion takes in addition to the shared beginning.
  std::int64_t promise_of(const Prompt& prompt) const;
  /// What each further completion takes.
  std::int64_t promise_of_fork(const Prompt& prompt) const;

  std::vector<PromptResult> results;     // [prompts]
  std::vector<std::int64_t> unfinished;  // [prompts] sequences to come
  SharedBeginning beginning;

private:
  LmConfig model_;
  std::span<const Prompt> prompts_;
  GenerationConfig config_;
  std::size_t next_ = 0;
};

}  // namespace mgpu::lm
