#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "admission_queue.hpp"

// Shapes in this header: D width.
namespace mgpu::lm {

/// References to the callbacks of a Generator. The callbacks have to outlive the batches.
struct GenerationWatch {
  const StopText& stop_text;
  const SeeHidden& see_hidden;
};

/// A batch of prompts whose sequences share a decode session. Each step() takes the tokens drawn by
/// the previous turn of the session (see DecodeSession), and starts the next turn. Between two
/// steps, the other batches of the Generator make their steps. All ranks of the group get the same
/// tokens, so they make the same decisions.
///
/// The sequence of a prompt may be prefilled over several passes. Each completion is a fork of this
/// sequence, except the last completion, which continues the sequence itself. The completions share
/// the cache pages that are reserved for the prompt. These pages are released when all completions
/// of the prompt have ended.
class GenerationBatch {
public:
  /// Makes a batch that runs at most config.batch_size completions at a time, and uses at most
  /// `pages` cache pages of the pool.
  GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                  const GenerationWatch& watch, AdmissionQueue& queue, DecodePool& pool,
                  std::int64_t pages);

  /// Takes the results of the session's turn (a pass and its draws) that the previous call of
  /// step() started, and starts the next turn. If several tokens can be drawn without a host read,
  /// the call draws these tokens instead of starting a turn. Returns false if a rank has failed, or
  /// if this batch has no sequences to work on now. A later call can return true again, because
  /// work of other batches can allow this batch to take prompts.
  bool step();

  /// Discards the results of the turn that the last step() started.
  void forget() { session_.forget(); }

  /// Frees the cache pages of the common prefix of all prompts. Call it after the last step().
  void drop_shared_prefix();

private:
  /// A prompt that is being prefilled, or whose completions have not all started.
  struct Prefill {
    std::size_t prompt = 0;
    std::int64_t sequence = 0;
    std::int64_t seen = 0;         // number of prompt tokens in the cache
    std::int64_t next_sample = 0;  // number of started completions
    at::Tensor last{};             // [1, D] state of the last token, on ranks with the head if the
                                   // prompt has continuations; undefined until it is computed
  };

  /// An unfinished completion.
  struct ActiveSequence {
    std::size_t prompt = 0;
    std::int64_t index = 0;  // which completion of the prompt, from 0
    std::int64_t sequence = 0;
    std::int64_t reserved_pages = 0;  // for a fork; 0: the completion continues the prompt's
                                      // sequence
    Completion completion{};
    bool is_done = false;
  };

  /// A continuation (Prompt::continuations) that is being scored. Its last token is never an input.
  struct Continuation {
    std::size_t prompt = 0;
    std::size_t index = 0;  // index in Prompt::continuations
    std::int64_t sequence = 0;
  };

  /// The list to which the next `count` scores from the session are appended.
  struct ScoresFor {
    std::vector<float>* all;
    std::size_t count;
  };

  bool apply_outcome();
  void admit();
  void open(std::size_t index);
  void look_at(const PassView& view);
  void add_piece(Prefill& prefill, const SeenPiece& piece, const PassView& view);
  void add_continuation(const SeenPiece& piece, const PassView& view);
  void keep_shared_prefix(const Prefill& prefill);
  std::int64_t steps_ahead() const;
  void grow(std::int64_t steps);
  std::vector<std::int64_t> active_sequences() const;
  void activate_sequences();
  bool activate_sequence(Prefill& prefill);
  void close(Prefill& prefill);
  void begin_continuations(const Prefill& prefill);
  at::Tensor rows_of(const PassView& view, std::int64_t row, std::int64_t count) const;
  void request(std::span<const std::int64_t> targets, const at::Tensor& rows,
               std::vector<float>& scores);
  void draw();
  void append(ActiveSequence& active, const DrawnToken& token);
  std::optional<FinishReason> end_of(const ActiveSequence& active) const;
  void evict_finished();
  bool looks_at_prompts() const { return config_.scores_prompts || watch_.see_hidden; }
  bool has_head() const { return model_.shard().has_head; }

  const LanguageModel& model_;
  GenerationConfig config_;
  GenerationWatch watch_;
  AdmissionQueue& queue_;
  DecodeSession session_;
  PageBudget pages_;
  std::int64_t page_tokens_;
  std::deque<Prefill> prefills_;
  std::deque<Continuation> continuations_;
  std::vector<ActiveSequence> active_;

  // The next members describe the forward pass that the last call of step() started.
  HeadRequests requests_;
  std::vector<ScoresFor> scores_;
  std::vector<PromptPiece> pieces_;
};

}  // namespace mgpu::lm
