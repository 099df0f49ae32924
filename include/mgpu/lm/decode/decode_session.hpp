#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: S sequences, T steps, W rows whose states are requested, D width.
namespace mgpu::lm {

struct DecodeState;
struct SequenceInput;
class PassBuilder;

/// The memory of decode sessions: a paged KV cache and its sequences. Several sessions can share
/// one pool and make their passes in turn. After a pass or a draw of one session has failed, no
/// session can use the pool any more.
class DecodePool {
public:
  /// Allocates a KV cache for `model`. Errors: those of LanguageModel::make_cache().
  DecodePool(const LanguageModel& model, const PagedCache::Sizes& sizes);
  DecodePool(DecodePool&&) noexcept;
  DecodePool& operator=(DecodePool&&) noexcept;
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool();

  const PagedCache& cache() const;

  /// Reserves memory for passes of up to `rows` tokens; does nothing without tensor parallelism. A
  /// rank that runs out of memory in a pass uses this memory to take part in the remaining
  /// all-reduces of the pass. A pass with more tokens first enlarges the reserved memory.
  void reserve_rows(std::int64_t rows);

  /// Returns the report of a failed rank of the group. It is nullopt until DecodeSession::take() or
  /// DecodeSession::forget() has received a report.
  const std::optional<ErrorReport>& failure() const;

private:
  friend class DecodeSession;
  std::unique_ptr<DecodeState> state_;
};

struct DecodeConfig {
  SamplingConfig sampling{};
  std::int64_t prefill_tokens = 0;       // maximum number of prefill() tokens per pass;
                                         // 0: PassSizes::prefill_tokens of the model
  std::vector<std::int64_t> stop_ids{};  // ids that end a sequence; used only by steps() and
                                         // PathSession
  LogitProcessors processors{};
};

struct PrefillOptions {
  std::int64_t length = 0;  // see SequenceSpan::length
  bool shows_all = false;   // true: pass() returns the states of all tokens; false: of the last one
  bool goes_first = false;  // true: processed before prefills without this flag
};

/// Consecutive tokens of one prefill() that were processed in the same pass.
struct SeenPiece {
  std::int64_t sequence = 0;
  std::int64_t first = 0;  // index of the first token in the prefill()
  std::int64_t count = 0;
  std::int64_t row = 0;   // index of the piece's first row in PassView::hidden
  std::int64_t rows = 0;  // number of rows of the piece in PassView::hidden
  bool is_last = false;   // true: these are the last tokens of the prefill()
};

/// The results of a pass.
struct PassView {
  at::Tensor hidden;              // [W, D]: one row per input token from a draw or from feed(),
                                  // then the rows of `pieces`; [0, D] on ranks without the head
  std::vector<SeenPiece> pieces;  // tokens of prefill(), in the order of the rows of `hidden`
};

/// Additional work for the vocabulary head during a draw.
struct HeadRequests {
  /// Hidden states [n, D], and for each state the token whose log-probability is needed. The states
  /// are undefined on ranks without the head.
  struct Scored {
    at::Tensor rows;
    std::span<const std::int64_t> targets;
  };
  std::vector<Scored> scored{};
  /// Called once after scoring and before the draw, on ranks with the head. It may throw.
  std::function<void()> look{};
};

struct Drawn {
  std::vector<DrawnToken> tokens;  // one per sequence of the draw
  std::vector<float> scores;       // log-probabilities for HeadRequests::scored, in order, nats
};

/// The tokens that several steps drew, on the model's device.
struct DrawnSteps {
  at::Tensor ids;          // [T, S] int64
  at::Tensor log_probs;    // [T, S] float32
  at::Tensor log_sums;     // [T, S] float32 logsumexp; not finite if a logit is NaN or +inf,
                           // or all logits are -inf
  at::Tensor divergences;  // [T, S] float64, KL divergences in nats; see DrawnToken::divergence
  at::Tensor stopped;      // [T, S] bool: a stop id was drawn in this step or earlier
  std::vector<DrawSite> sites;  // [S] sites of the first step's draws, with empty contexts
};

/// A batch of sequences that grow together. Between two passes, sequences may be added, forked,
/// filled with ids or embeddings, read and dropped. The pending input of a sequence is its tokens
/// from prefill(), feed() or a draw that no pass has processed yet. A turn consists of the calls
/// pass(), draw() and take(); step() makes all three. On the CPU the bits of a sequence's results
/// depend neither on other sequences, including its forks, nor on how its tokens are split over
/// passes. RopeKind::dynamic is an exception: without PrefillOptions::length, results depend on the
/// split.
///
/// Ranks:  if a model is split over a group, all of its ranks must make the same calls in the same
///         order. In this case, several sessions that share a pool may have an unfinished turn at
///         the same time, if they call take() in the order in which they called draw(). If a model
///         is on one rank, only one session of a pool may have an unfinished turn.
/// Errors: Error when a sequence does not exist.
class DecodeSession {
public:
  /// Model, pool and processors have to outlive the session. Errors: Error when
  /// config.prefill_tokens is negative; those of the constructor of Sampler.
  DecodeSession(const LanguageModel& model, DecodePool& pool, DecodeConfig config);
  DecodeSession(DecodeSession&&) noexcept;
  DecodeSession(const DecodeSession&) = delete;
  DecodeSession& operator=(const DecodeSession&) = delete;
  DecodeSession& operator=(DecodeSession&&) = delete;
  ~DecodeSession();

  /// Adds an empty sequence, and returns its number. The random numbers of its draws depend on
  /// `sample` and on how many tokens it has drawn before.
  std::int64_t add(std::uint64_t sample = 0);

  /// Adds a copy of `origin` with the same tokens (including pending input), hidden state and
  /// number of draws. Returns the copy's number. Copy and origin share each cache page until one of
  /// them writes to it.
  std::int64_t fork(std::int64_t origin, std::uint64_t sample);

  /// Adds a sequence that shares the first `pages` cache pages of `origin`. Returns the number of
  /// the new sequence. It has no hidden state until it gets input.
  ///
  /// Errors: Error when `origin` has fewer than `pages` full pages.
  std::int64_t fork_pages(std::int64_t origin, std::int64_t pages, std::uint64_t sample);

  /// Adds a sequence with copies of the cached keys and values of some tokens of `origin`, and
  /// returns its number. `tokens` are ascending ranges of token indices. The copied keys keep their
  /// rotation (RoPE). The position of the next token is the number of copied tokens. The new
  /// sequence has no hidden state until it gets input.
  ///
  /// Errors: Error when `origin` has pending input, or the session has logit processors; ShapeError
  ///         when the pool has too few pages.
  std::int64_t fork_tokens(std::int64_t origin, std::span<const Range> tokens,
                           std::uint64_t sample);

  /// Adds a sequence whose keys and values are the means of those of `origins`, and returns its
  /// number. The new sequence has the token ids of the first origin. It has no hidden state until
  /// it gets input.
  ///
  /// Errors: Error when an origin has pending input, the lengths of the origins differ, or the
  ///         session has logit processors; ShapeError when the pool has too few pages.
  std::int64_t add_mean(std::span<const std::int64_t> origins, std::uint64_t sample);

  /// Removes a sequence and frees the pages that no other sequence shares.
  void drop(std::int64_t sequence);

  /// Queues tokens of a sequence for the next passes. A pass takes at most config.prefill_tokens
  /// tokens of all prefills together. It takes prefills with goes_first before the others, and
  /// otherwise follows the order of the calls. For embeddings see SequenceSpan::embeddings.
  ///
  /// Errors: Error when the sequence has pending input; ShapeError when `embeddings` is not a
  ///         matrix. With ids outside the vocabulary, the pass that processes them fails.
  void prefill(std::int64_t sequence, std::span<const std::int64_t> ids,
               const PrefillOptions& options = {});
  void prefill(std::int64_t sequence, const at::Tensor& embeddings,
               const PrefillOptions& options = {});

  /// Queues one token for each of the given sequences. The next pass processes all of these tokens,
  /// regardless of config.prefill_tokens. The repetition penalty ignores them, and logit processors
  /// are not told of them.
  ///
  /// Shapes: sequences S; ids [S] int64 on the model's device, in the vocabulary
  /// Errors: Error when a sequence has pending input; ShapeError when there is not one id per
  ///         sequence.
  void feed(std::span<const std::int64_t> sequences, const at::Tensor& ids);

  /// has_input() returns whether any sequence has pending input. is_waiting() returns whether the
  /// given sequence has pending input.
  bool has_input() const;
  bool is_waiting(std::int64_t sequence) const;

  /// Returns the number of tokens of a sequence, including pending input.
  std::int64_t length(std::int64_t sequence) const;

  /// Runs pending input through the layers, up to the limit of config.prefill_tokens. Without
  /// pending input it runs nothing and returns an empty PassView. The result is valid until the
  /// next draw() or pass().
  ///
  /// Errors: ShapeError when the pool has too few pages. A failed rank of a pipeline, or a
  ///         tensor-parallel rank that runs out of memory, does not throw. The next take() then
  ///         returns an empty result on all ranks.
  const PassView& pass();

  /// Returns the hidden state of each sequence's newest token, after the last norm, [S, D] float32
  /// on all ranks. The sequences must not have pending input.
  ///
  /// Ranks:  collective; no session of the pool may have an unfinished turn
  /// Errors: Failure or Error on all ranks, if a rank has failed in a pass
  at::Tensor hidden(std::span<const std::int64_t> sequences);

  /// Starts to draw one token for each sequence from its hidden state, and starts the work that
  /// `requests` describes. take() returns the results of both. If the draw or the work fails, and
  /// the model is on one rank, draw() throws. In a group, take() returns an empty result instead,
  /// and draw() throws only these exceptions of the draw or the work:
  /// - cluster::DivergedFailure
  /// - with tensor parallelism, exceptions that are neither a Failure nor a lack of memory
  ///
  /// Errors: Error when a sequence has pending input, or the result of the last draw() was not
  ///         taken.
  void draw(std::span<const std::int64_t> sequences, const HeadRequests& requests = {});

  bool is_drawing() const { return is_drawing_; }

  /// Returns the result of draw(). Each drawn token becomes the input of its sequence for the next
  /// pass. If a rank has failed, the result is empty, and DecodePool::failure() is set on all
  /// ranks.
  std::optional<Drawn> take();

  /// Discards the result of a draw() for which take() was not called.
  void forget();

  /// Runs pass(), draw() and take(), and returns one token per sequence. Errors: those of the three
  /// calls, on all ranks. Failure E704 on all ranks when logits are not finite.
  std::vector<DrawnToken> step(std::span<const std::int64_t> sequences);

  /// Returns whether steps() can be called: the model is on one rank, and the sampler can draw
  /// without the host.
  bool can_step_ahead() const;

  /// Draws `count` tokens for each sequence, one per pass. Each sequence must have one pending
  /// token, and no other input may be pending. Either all pending tokens come from take(), or all
  /// come from feed() or steps(). A sequence continues after a stop id; read() omits the tokens
  /// after the stop id.
  ///
  /// The host sends all positions, cache slots and random numbers before the first pass. The host
  /// reads nothing back from the device, unless the model has experts or a logit processor reads
  /// tensors.
  ///
  /// Errors: Error when the pending input is not as described, a draw is unfinished, or
  ///         can_step_ahead() is false; ShapeError when there are too few positions or free pages.
  DrawnSteps steps(std::span<const std::int64_t> sequences, std::int64_t count);

  /// Returns the tokens of each sequence, up to and including its first stop id. The host reads all
  /// of `steps` at once.
  /// Errors: Failure E704 when logits are not finite.
  static std::vector<std::vector<DrawnToken>> read(const DrawnSteps& steps);

private:
  void require_waiting(std::span<const std::int64_t> sequences) const;
  at::Tensor take_waiting(std::span<const std::int64_t> sequences);
  void keep_steps(const DrawnSteps& steps, const at::Tensor& hidden,
                  std::span<const std::int64_t> sequences);
  void notify(const std::function<void(SequenceWatcher&)>& event) const;
  void await(std::int64_t sequence, SequenceInput input, const PrefillOptions& options);
  void keep_states(const std::vector<std::int64_t>& fed);
  at::Tensor rows_of(std::span<const std::int64_t> sequences) const;
  std::vector<DrawSite> sites_of(std::span<const std::int64_t> sequences) const;
  bool has_head() const { return model_->shard().has_head; }

  const LanguageModel* model_;
  DecodeState* state_;
  DecodeConfig config_;
  Sampler sampler_;
  std::unique_ptr<PassBuilder> waiting_;
  PassView view_;
  std::vector<std::int64_t> drawing_;  // sequences of the unfinished draw
  bool is_drawing_ = false;
};

}  // namespace mgpu::lm
