#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <mgpu/lm/decode/path_session.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

#include "keys.hpp"
#include "search_scores.hpp"

namespace mgpu::jobs {

/// A prompt that a beam search completes. The first step of completion i is drawn from the random
/// stream `sample` + i.
struct BeamPrompt {
  const rows::EncodedPrompt* prompt = nullptr;
  std::uint64_t sample = 0;
};

/// Completes prompts step by step. After each step, a process reward model scores the unfinished
/// completions of a prompt. Of N unfinished completions, only those with the highest scores
/// continue: N / generate.reward.beam_width completions, rounded up. Copies of them replace the
/// other unfinished completions, so the number of completions stays the same. Completions that have
/// ended are kept.
///
/// A batch contains completions of several prompts. A copy shares the cache pages of the completion
/// from which it was copied. On the CPU, the completions of a prompt depend only on the prompt and
/// its random stream, not on other prompts.
///
/// Source: beam search with a verifier in Snell et al., arXiv 2408.03314, 5.1.
class BeamSearch {
public:
  /// Keeps references to all arguments except `config`, so these arguments must outlive this
  /// object. `scorer` is nullptr on ranks that do not record results.
  BeamSearch(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
             const GenerateConfig& config, const SearchKeys& keys, CompletionScorer* scorer);

  /// Returns generate.num_samples completions of each prompt.
  /// Ranks:  collective over the ranks of the model.
  /// Errors: those of lm::PathSession::run().
  std::vector<lm::PromptResult> run(std::span<const BeamPrompt> prompts);

  void set_batch_size(std::int64_t batch_size) { config_.batch_size = batch_size; }
  void set_progress(const lm::SeeProgress& see) { see_progress_ = see; }

  /// Frees the KV cache; the next run() allocates it again.
  void free_cache() { paths_.free_pool(); }

private:
  /// A completion. Until it ends, `sequence` is its sequence in the decode session.
  struct Beam {
    std::int64_t sequence = 0;
    lm::Completion completion{};
    bool has_ended = false;
    double score = 0.0;
  };

  /// The generate.num_samples completions of a prompt, in the order of the results.
  struct Beams {
    BeamPrompt prompt;
    std::vector<Beam> all{};
  };

  /// An unfinished completion with its prompt.
  struct Growing {
    Beam* beam = nullptr;
    const rows::EncodedPrompt* prompt = nullptr;
  };

  lm::PagedCache::Sizes sizes_for(std::span<const BeamPrompt> prompts) const;
  std::vector<Beams> begin(std::span<const BeamPrompt> prompts);
  void work_on(std::span<const BeamPrompt> prompts, std::vector<lm::PromptResult>& results);
  static std::vector<Growing> growing_in(std::vector<Beams>& trees);
  void grow(const std::vector<Growing>& growing);
  bool ends_step(const lm::Completion& completion);
  void score(const std::vector<Growing>& growing);
  void select(Beams& tree, std::uint64_t round);

  const rows::PromptEncoder& encoder_;
  lm::GenerationConfig config_;
  std::int64_t num_samples_;
  const SearchKeys& keys_;
  CompletionScorer* scorer_;
  lm::PathSession paths_;
  lm::SeeProgress see_progress_{};
  std::map<std::int64_t, bool> breaks_{};  // by token id: whether the token has a line break
  lm::DecodeSession* session_ = nullptr;   // used by the current work_on()
  std::int64_t ended_ = 0;
};

/// Decides which of a prompt's N unfinished completions continue. Returns, for each completion, the
/// index of the completion whose copy replaces it. Only the K = ceil(N / width) completions with
/// the highest scores are copied. Each of them gets N / K copies, rounded down. The best N mod K of
/// them get one more copy. NaN is lower than any score.
/// Shapes: scores [N]
std::vector<std::size_t> continued_of(std::span<const double> scores, std::int64_t width);

}  // namespace mgpu::jobs
