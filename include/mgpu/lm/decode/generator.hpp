#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/lm/forward/language_model.hpp>

namespace mgpu::lm {

struct GenerationConfig {
  SamplingConfig sampling;
  std::int64_t max_new_tokens = 256;   // 0: prompts are only scored
  std::vector<std::int64_t> stop_ids;  // each ends its completion, and is its last token
  std::int64_t batch_size = 16;        // sequences in the cache that grow together
  std::int64_t prefill_tokens = 0;     // of prompts in one pass, at most; 0: the model's PassSizes
  std::int64_t page_tokens = 16;
  CacheType cache_type = CacheType::f32;
  bool scores_prompts = false;   // also with max_new_tokens: 0
  LogitProcessors processors{};  // where tokens are drawn; they outlive the generator
};

struct Prompt {
  std::uint64_t sample = 0;  // keys the draws of the first completion; the others follow it
  std::span<const std::int64_t> ids;
  std::int64_t num_samples = 1;

  /// Lists of tokens that may follow, each for itself: they are scored, and share the prompt's
  /// pages. With max_new_tokens: 0 only.
  std::span<const std::vector<std::int64_t>> continuations{};
};

enum class FinishReason : std::uint8_t {
  stop_id,    // one of the stop ids
  stop_text,  // the caller's StopText
  length,     // max_new_tokens
  context,    // no learned position is left
};

struct Completion {
  std::vector<std::int64_t> ids;
  std::vector<float> log_probs;  // nats, under the model itself; as apply_head() scores them
  FinishReason reason = FinishReason::length;
};

struct PromptResult {
  std::vector<float> prompt_log_probs;  // of all tokens but the first; empty: not asked for
  std::vector<Completion> completions;  // num_samples

  /// Of each token of each continuation: on the CPU those of the two as one prompt, but for
  /// RopeKind::dynamic, whose prompts do not know what follows.
  std::vector<std::vector<float>> continuation_log_probs;
};

/// Whether the text of these new tokens has come to its end. Sees each completion, named by
/// Prompt::sample plus its index, after each token that is not a stop id.
using StopText = std::function<bool(std::uint64_t sample, std::span<const std::int64_t> ids)>;

/// Consecutive tokens of a prompt that went through the model in one pass.
struct PromptPiece {
  std::size_t prompt = 0;  // index in run()
  std::size_t first = 0;   // token of the prompt
  std::size_t count = 0;
};

/// Sees the hidden states behind the last norm of each token of all prompts, once, on the ranks
/// that have the head: pieces of one pass, and their rows one after the other, [N, D]. It may use
/// the head, which is collective where ranks share sums. What it throws is a failure of the pass;
/// after want of memory all prompts may come again.
using SeeHidden =
    std::function<void(std::span<const PromptPiece> pieces, const at::Tensor& hidden)>;

/// Completes prompts. Sequences of different prompts grow side by side; where one ends, the next
/// prompt begins. Prompts go in pieces through the same passes that decode. The completions of a
/// prompt share its pages; prompts of a run that begin alike share the pages of that beginning,
/// where it is neither scored nor shown. On the CPU the result of a prompt depends on neither its
/// neighbors nor batch_size, prefill_tokens or page_tokens.
///
/// Where the model is shared out to a group, the calls are collective over it: all ranks give the
/// same prompts, config and StopText, and all have the results. Between layers on several ranks
/// the batch goes in parts, so that each has work.
///
/// Memory: a cache for batch_size sequences of the longest prompt with its completion, kept for
///         the next call; it grows where that one needs more.
class Generator {
public:
  /// The model outlives the generator. Errors: Error when a value is out of its range.
  Generator(const LanguageModel& model, GenerationConfig config, StopText stop_text = {},
            SeeHidden see_hidden = {});

  /// Results in the order of the prompts.
  /// Errors: ShapeError for a prompt or continuation without tokens, with tokens out of the
  ///         vocabulary, or longer than the learned positions; Error for continuations where
  ///         tokens are drawn; Failure E704 when logits are not finite. Out of memory:
  ///         std::bad_alloc, or a Failure with ExitCode::out_of_memory; on all ranks of the group,
  ///         which may go on with a smaller batch. cluster::LoneFailure when ranks do not meet any
  ///         more: where they share sums also when one of them alone fails otherwise in a pass.
  std::vector<PromptResult> run(std::span<const Prompt> prompts);

  std::int64_t batch_size() const { return config_.batch_size; }

  /// From the next run on; gives the memory of the cache back.
  void set_batch_size(std::int64_t batch_size);

private:
  void settle_or_reset(const std::function<void()>& step);
  void pool_for(std::span<const Prompt> prompts);
  std::int64_t rows_for(std::span<const Prompt> prompts, std::int64_t completions) const;
  std::int64_t shared_tokens(std::span<const Prompt> prompts) const;
  std::vector<PromptResult> run_batches(std::span<const Prompt> prompts, DecodePool& pool);
  std::int64_t batches() const;  // that take turns

  const LanguageModel* model_;
  GenerationConfig config_;
  StopText stop_text_;
  SeeHidden see_hidden_;
  std::optional<DecodePool> pool_;
};

}  // namespace mgpu::lm
