#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/lm/forward/language_model.hpp>

namespace mgpu::lm {

struct GenerationConfig {
  SamplingConfig sampling;
  std::int64_t max_new_tokens = 256;   // 0: no completions, only scores
  std::vector<std::int64_t> stop_ids;  // a completion ends when it draws one of these
  std::int64_t batch_size = 16;        // sequences that are decoded together
  std::int64_t prefill_tokens = 0;     // prompt tokens per pass; 0: PassSizes::prefill_tokens
  std::int64_t page_tokens = 16;       // tokens per page of the KV cache
  CacheType cache_type = CacheType::f32;
  bool scores_prompts = false;   // true: fills PromptResult::prompt_log_probs
  LogitProcessors processors{};  // have to outlive the generator
};

struct Prompt {
  std::uint64_t sample = 0;  // random stream of the first completion; completion i has sample + i
  std::span<const std::int64_t> ids;
  std::int64_t num_samples = 1;

  /// Alternative continuations of the prompt. Each is scored separately and shares the prompt's
  /// cache pages. They require GenerationConfig::max_new_tokens 0.
  std::span<const std::vector<std::int64_t>> continuations{};

  /// The last `begun` of the `ids` already belong to the completion. They count against
  /// max_new_tokens, but are not in Completion::ids.
  std::int64_t begun = 0;
};

enum class FinishReason : std::uint8_t {
  stop_id,    // the last id is a stop id
  stop_text,  // StopText returned true
  length,     // max_new_tokens is reached, see Prompt::begun
  context,    // no learned position is left for the next token
};

struct Completion {
  std::vector<std::int64_t> ids;
  std::vector<float> log_probs;  // nats, from the unchanged logits of the model
  FinishReason reason = FinishReason::length;
  std::vector<double> divergences{};  // see DrawnToken; empty without a candidate processor
};

struct PromptResult {
  std::vector<float> prompt_log_probs;  // nats, one per token after the first; empty: not requested
  std::vector<Completion> completions;  // [Prompt::num_samples]; empty if max_new_tokens is 0

  /// One list per continuation, with one log-probability per token, in nats. On the CPU these
  /// values have the same bits as if prompt and continuation were scored as one prompt.
  /// RopeKind::dynamic is an exception, because its rotation depends on the length of the prompt
  /// that is scored.
  std::vector<std::vector<float>> continuation_log_probs;
};

/// A callback that returns whether a completion ends after `ids`, its tokens so far. It is called
/// for each completion after each token that is not a stop id. `sample` is Prompt::sample plus the
/// index of the completion.
using StopText = std::function<bool(std::uint64_t sample, std::span<const std::int64_t> ids)>;

/// Consecutive tokens of a prompt that were processed in the same pass.
struct PromptPiece {
  std::size_t prompt = 0;  // index among the prompts of Generator::run()
  std::size_t first = 0;   // index of the first token in the prompt
  std::size_t count = 0;
};

/// A callback that receives the hidden state of each prompt token once, after the model's last
/// norm, on the ranks that have the vocabulary head. Each call gets the tokens of one pass as
/// `pieces`, and their states in this order as `hidden`, [tokens, width]. The callback may call
/// apply_head(), which is collective in a tensor-parallel group. If the callback throws, the pass
/// fails. After an out-of-memory failure, the caller of Generator::run() may run all prompts again,
/// and the callback then receives all states again.
using SeeHidden =
    std::function<void(std::span<const PromptPiece> pieces, const at::Tensor& hidden)>;

/// A callback that receives how many completions or scored prompts of a call of Generator::run()
/// have ended so far. Each rank calls it after each pass, or after several passes if the host reads
/// their drawn ids together. In a pipeline, which decodes several smaller batches in turn, each
/// rank calls it after one pass of every batch.
using SeeProgress = std::function<void(std::int64_t ended)>;

/// Completes prompts with continuous batching: when a sequence ends, the next prompt takes its
/// place. A prompt may be prefilled over several passes, which also decode other sequences. The
/// completions of a prompt share the prompt's cache pages. If all prompts of one call to run() have
/// a common prefix, they also share the cache pages that the prefix fills. Prompts share no prefix
/// if the model or that of a processor has RopeKind::dynamic, if GenerationConfig::scores_prompts
/// is true, or if there is a SeeHidden callback. On the CPU the result of a prompt depends neither
/// on other prompts nor on batch_size, prefill_tokens or page_tokens.
///
/// If the model is split over a group, all calls are collective: all ranks must pass the same
/// prompts, config and StopText, and all get the results. In a pipeline, the sequences are decoded
/// in several smaller batches, so that every stage has work.
///
/// Memory: a KV cache for batch_size sequences, each as long as the longest prompt with its
///         completion. The cache is kept for the next call, and grows if that call needs more.
class Generator {
public:
  /// The model has to outlive the generator. Errors: Error when max_new_tokens, batch_size or
  /// prefill_tokens is out of range.
  Generator(const LanguageModel& model, GenerationConfig config, StopText stop_text = {},
            SeeHidden see_hidden = {});

  /// Completes or scores prompts. Returns results in the order of the prompts.
  ///
  /// Errors: - ShapeError: a prompt or continuation is empty, has ids outside the vocabulary, or is
  ///           longer than the learned positions; or num_samples is below 1
  ///         - Error: there are continuations, and max_new_tokens is above 0; or Prompt::begun or a
  ///           sampling setting is out of range
  ///         - Failure E704: logits are not finite
  ///         - DivergedFailure: the ranks can no longer make the same calls. One cause is that a
  ///           pass fails on one tensor-parallel rank, and not for lack of memory.
  ///
  ///         When memory runs out, all ranks of the group throw std::bad_alloc or a Failure with
  ///         ExitCode::out_of_memory, and may retry with a smaller batch.
  std::vector<PromptResult> run(std::span<const Prompt> prompts);

  std::int64_t batch_size() const { return config_.batch_size; }

  /// Sets the callback that receives the progress of run(); an empty function removes it.
  void set_progress(SeeProgress see_progress) { see_progress_ = std::move(see_progress); }

  /// Sets the batch size for later calls to run(), and frees the cache. Throws Error if
  /// `batch_size` is below 1.
  void set_batch_size(std::int64_t batch_size);

  /// Frees the cache; the next call of run() allocates it again.
  void free_cache() { pool_.reset(); }

private:
  void run_on_all_or_reset(const std::function<void()>& step);
  void pool_for(std::span<const Prompt> prompts);
  std::int64_t rows_for(std::span<const Prompt> prompts, std::int64_t completions) const;
  bool allows_shared_prefixes() const;
  std::int64_t shared_tokens(std::span<const Prompt> prompts) const;
  std::vector<PromptResult> run_batches(std::span<const Prompt> prompts, DecodePool& pool);
  std::int64_t batches() const;  // number of batches that decode in turn; 1 without a pipeline

  const LanguageModel* model_;
  GenerationConfig config_;
  StopText stop_text_;
  SeeHidden see_hidden_;
  SeeProgress see_progress_;
  std::optional<DecodePool> pool_;
};

}  // namespace mgpu::lm
