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

/// Returns the maximum number of tokens of a completion: max_new_tokens minus Prompt::begun. If the
/// model has learned positions, the number of positions also limits the result.
std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt);

/// Returns how many tokens the cache holds for a prompt with one completion of maximum length. The
/// last token of a completion is never an input, so the cache does not hold it.
std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt);

/// Returns the largest number of cache pages that a prompt needs. The number includes the pages of
/// all continuations (Prompt::continuations). If the prompt has no continuations, the number
/// includes the pages of one completion. Each further completion needs as many additional pages as
/// AdmissionQueue::pages_to_reserve_for_fork() returns.
std::int64_t pages_needed(const LmConfig& model, const GenerationConfig& config,
                          const Prompt& prompt);

/// The common prefix of all prompts of one call of Generator::run(), in whole cache pages.
struct SharedPrefix {
  std::int64_t pages = 0;      // 0: no common prefix
  std::int64_t sequence = -1;  // cache sequence that holds the prefix; -1 until it is computed
};

/// Counts the cache pages that are not reserved yet. Pages are reserved for a sequence before the
/// sequence starts, so that every started sequence can finish.
class PageBudget {
public:
  explicit PageBudget(std::int64_t pages) : free_(pages) {}

  /// Reserves pages. Returns false, and reserves no pages, if there are too few.
  bool reserve(std::int64_t pages) {
    if (pages > free_) return false;
    free_ -= pages;
    return true;
  }
  void give_back(std::int64_t pages) { free_ += pages; }

private:
  std::int64_t free_;
};

/// The prompts and results of one call of Generator::run(). The batches of that call take prompts
/// from this queue in order.
class AdmissionQueue {
public:
  AdmissionQueue(const LmConfig& model, std::span<const Prompt> prompts,
                 const GenerationConfig& config);

  const Prompt& prompt(std::size_t index) const { return prompts_[index]; }
  bool is_empty() const { return next_ == prompts_.size(); }

  /// Returns whether the next prompt has to wait until the prefill of the first prompt has computed
  /// the common prefix.
  bool waits_for_shared_prefix() const {
    return shared_prefix.sequence < 0 && shared_prefix.pages > 0 && next_ > 0;
  }
  const Prompt& next() const { return prompts_[next_]; }
  std::size_t take() { return next_++; }

  /// Returns how many completions have ended. A prompt with continuations has no completions.
  /// When all its continuations are scored, it counts as Prompt::num_samples ended completions.
  std::int64_t ended() const { return ended_; }

  /// Sets how many sequences of a prompt have not ended. The initial number is num_samples.
  void set_unfinished(std::size_t prompt, std::int64_t sequences);
  /// Counts one sequence of a prompt as ended. Returns whether all sequences of the prompt have
  /// ended.
  bool end_sequence(std::size_t prompt);

  /// Returns pages_needed() without the pages of the common prefix.
  std::int64_t pages_to_reserve(const Prompt& prompt) const;
  /// Returns how many additional cache pages a completion needs if it runs in a fork of the
  /// prompt's sequence.
  std::int64_t pages_to_reserve_for_fork(const Prompt& prompt) const;

  std::vector<PromptResult> results;  // [prompts]
  SharedPrefix shared_prefix;

private:
  std::int64_t ended_of(std::size_t prompt) const;

  LmConfig model_;
  std::span<const Prompt> prompts_;
  GenerationConfig config_;
  std::vector<std::int64_t> unfinished_;  // [prompts] number of sequences that have not ended
  std::int64_t ended_ = 0;                // sum of ended_of() over the prompts
  std::size_t next_ = 0;
};

}  // namespace mgpu::lm
