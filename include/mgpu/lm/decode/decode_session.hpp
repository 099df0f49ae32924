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

// Shapes in this header: S sequences, T steps, W rows whose states are wanted, D width.
namespace mgpu::lm {

struct DecodeState;
struct SequenceInput;
class PassBuilder;

/// Memory that decode sessions work in: pages of keys and values, and the sequences in them.
/// Sessions whose passes take turns share one. After a failure of a session it is of no more use.
class DecodePool {
public:
  /// Errors: as LanguageModel::make_cache.
  DecodePool(const LanguageModel& model, const PagedCache::Sizes& sizes);
  DecodePool(DecodePool&&) noexcept;
  DecodePool& operator=(DecodePool&&) noexcept;
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool();

  const PagedCache& cache() const;

  /// Sets memory aside for passes of up to `rows` rows, which lets a rank of a tensor group that
  /// has no more memory stay in step. A pass with more rows does it itself.
  void reserve_rows(std::int64_t rows);

  /// The failure of any rank that a draw has told of.
  const std::optional<Report>& failure() const;

private:
  friend class DecodeSession;
  std::unique_ptr<DecodeState> state_;
};

struct DecodeConfig {
  SamplingConfig sampling{};
  std::int64_t prefill_tokens = 0;       // of one pass, at most; 0: the model's PassSizes
  std::vector<std::int64_t> stop_ids{};  // for steps(): each is the last token of its sequence
  LogitProcessors processors{};
};

struct PrefillOptions {
  std::int64_t length = 0;  // see TokenRun::length
  bool shows_all = false;   // pass() shows the state of every token
  bool goes_first = false;  // before those that do not
};

/// Consecutive tokens of one prefill() that went through the model in one pass.
struct SeenPiece {
  std::int64_t sequence = 0;
  std::int64_t first = 0;  // token of the input
  std::int64_t count = 0;
  std::int64_t row = 0;  // of the pass, where its states begin
  std::int64_t rows = 0;
  bool is_last = false;  // of the input
};

/// What a pass has computed.
struct PassView {
  at::Tensor hidden;              // [W, D]; [0, D] on ranks that do not have the head
  std::vector<SeenPiece> pieces;  // of prefill(), in the order of their rows
};

/// Work for the head in the turn of a draw.
struct HeadRequests {
  /// States, [n, D], and the n tokens that follow them. The rows are undefined where the head is
  /// not.
  struct Scored {
    at::Tensor rows;
    std::span<const std::int64_t> targets;
  };
  std::vector<Scored> scored{};
  std::function<void()> look{};  // called where the head is; what it throws fails the pass
};

struct Drawn {
  std::vector<DrawnToken> tokens;  // one per drawing sequence
  std::vector<float> scores;       // nats, of all scored tokens, one after the other
};

/// What several steps drew, on the model's device.
struct DrawnSteps {
  at::Tensor ids;               // [T, S] int64
  at::Tensor log_probs;         // [T, S] float32
  at::Tensor log_sums;          // [T, S] float32; not finite where logits are not
  at::Tensor stopped;           // [T, S] bool: a stop id came in this step or before
  std::vector<DrawSite> sites;  // [S] of the first step, without contexts
};

/// Sequences that grow side by side, and change from pass to pass: they may be added, forked,
/// filled with ids or embeddings, read and dropped between any two passes. A turn is pass(),
/// draw() and take(); step() is all three. On the CPU the bits of a sequence do not depend on its
/// neighbors, its forks, or the pieces that its tokens come in.
///
/// Ranks:  where the model is shared out to a group, all of its ranks make the same calls in the
///         same order. Sessions that share a pool may each have a turn under way, which are taken
///         in the order of their draws.
/// Errors: Error where a sequence does not exist.
class DecodeSession {
public:
  /// Model, pool and processors outlive the session.
  DecodeSession(const LanguageModel& model, DecodePool& pool, DecodeConfig config);
  DecodeSession(DecodeSession&&) noexcept;
  DecodeSession(const DecodeSession&) = delete;
  DecodeSession& operator=(const DecodeSession&) = delete;
  DecodeSession& operator=(DecodeSession&&) = delete;
  ~DecodeSession();

  /// A sequence without tokens. Its draws are keyed by `sample` and their number.
  std::int64_t add(std::uint64_t sample = 0);

  /// A sequence with the same tokens, those that wait included, hidden state and number of draws;
  /// pages are shared until one of the two writes to them.
  std::int64_t fork(std::int64_t origin, std::uint64_t sample);

  /// A sequence with the first `pages` pages of another one, which have to be full.
  std::int64_t fork_pages(std::int64_t origin, std::int64_t pages, std::uint64_t sample);

  /// Gives the pages back that no other sequence shares.
  void drop(std::int64_t sequence);

  /// Tokens for the next passes: at most config.prefill_tokens of all prefills go into each, in the
  /// order of the calls. The embeddings are as TokenRun describes them.
  ///
  /// Errors: Error when the sequence has input that waits. Ids out of the vocabulary fail the pass.
  void prefill(std::int64_t sequence, std::span<const std::int64_t> ids,
               const PrefillOptions& options = {});
  void prefill(std::int64_t sequence, const at::Tensor& embeddings,
               const PrefillOptions& options = {});

  /// One token for each sequence, all in the next pass whatever config.prefill_tokens is. They are
  /// not in the context of the repetition penalty.
  ///
  /// Shapes: sequences S; ids [S] int64 on the model's device, in the vocabulary
  void feed(std::span<const std::int64_t> sequences, const at::Tensor& ids);

  /// Whether tokens wait for a pass: of any sequence, of one.
  bool has_input() const;
  bool is_waiting(std::int64_t sequence) const;

  /// Tokens of a sequence, those that wait included.
  std::int64_t length(std::int64_t sequence) const;

  /// Takes waiting tokens through the layers; nothing happens if there are none. What it returns
  /// holds until the next draw() or pass().
  ///
  /// Errors: ShapeError when the pool has too few pages.
  const PassView& pass();

  /// States after the last norm of the newest tokens of sequences, [S, D] float32 on all ranks.
  /// The sequences have no input that waits.
  ///
  /// Ranks:  no session of the pool has a turn under way
  /// Errors: on all ranks, when one of them failed in the pass
  at::Tensor hidden(std::span<const std::int64_t> sequences);

  /// Begins to draw a token for each of the sequences, from their hidden states.
  void draw(std::span<const std::int64_t> sequences, const HeadRequests& requests = {});

  bool is_drawing() const { return is_drawing_; }

  /// What the last draw() gave. Each token is the input of its sequence for the next pass. Nothing
  /// when a rank has failed, as the pool's failure() says on all of them.
  std::optional<Drawn> take();

  /// Drops what draw() began.
  void forget();

  /// pass(), draw() and take() in one. Errors: on all ranks alike, also Failure E704.
  std::vector<DrawnToken> step(std::span<const std::int64_t> sequences);

  /// Whether steps() can be: the model is whole, and the sampler can draw without the host.
  bool can_step_ahead() const;

  /// `count` steps of sequences that have one token each that waits, with nothing else waiting. No
  /// host read happens in them, unless the model has experts or a processor reads. The host sends
  /// all places before the first step, and the random numbers of each step. A sequence goes on
  /// after a stop id; tokens after it mean nothing.
  ///
  /// Errors: Error where something else waits, or the steps cannot be; ShapeError when positions
  ///         or the pool's pages are too few.
  DrawnSteps steps(std::span<const std::int64_t> sequences, std::int64_t count);

  /// The tokens of each sequence, up to its first stop id, with one host read.
  /// Errors: Failure E704 where logits are not finite.
  static std::vector<std::vector<DrawnToken>> read(const DrawnSteps& steps);

private:
  at::Tensor take_waiting(std::span<const std::int64_t> sequences);
  void keep_steps(const DrawnSteps& steps, const at::Tensor& hidden,
                  std::span<const std::int64_t> sequences);
  void tell(const std::function<void(SequenceWatcher&)>& event) const;
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
  std::vector<std::int64_t> drawing_;  // sequences of the draw under way
  bool is_drawing_ = false;
};

}  // namespace mgpu::lm
