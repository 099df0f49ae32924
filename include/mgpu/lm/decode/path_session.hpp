#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>

namespace mgpu::lm {

/// Receives the index of a completion that has ended, and the completion.
using SeeCompletion = std::function<void(std::size_t index, Completion completion)>;

/// Receives the index of a sequence and the token that it has drawn. Returns whether the sequence
/// draws another token.
using SeeToken = std::function<bool(std::size_t index, const DrawnToken& token)>;

/// Extends sequences of a DecodeSession. run() makes the session and passes it to a function
/// `work`. `work` adds, forks and drops sequences of this session, and calls draw() or complete()
/// to extend them. Each call of draw() or complete() draws the tokens of all its sequences in one
/// batch. On the CPU the results of a sequence do not depend on other sequences, including its
/// forks.
///
/// Ranks:  if the model is split over a group, all ranks of the group make the same calls in the
///         same order.
class PathSession {
public:
  /// The model has to outlive this object.
  PathSession(const LanguageModel& model, DecodeConfig config);

  /// Calls `work` with an empty session, whose pool has at least sizes.pages free pages. The pool
  /// is kept for later calls that need no more pages. Such a call ignores the other members of
  /// `sizes`. If `work` fails, the pool is freed.
  ///
  /// Errors: those of `work`. In a group, cluster::DivergedFailure for an exception that may have
  ///         been thrown on this rank alone. When memory runs out, std::bad_alloc or a Failure with
  ///         ExitCode::out_of_memory on all ranks, which may retry with fewer sequences.
  void run(const PagedCache::Sizes& sizes, const std::function<void(DecodeSession&)>& work);

  /// Returns the most cache pages that were in use at the same time since the pool was made.
  std::int64_t most_used_pages() const { return pool_ ? pool_->cache().most_used_pages() : 0; }

  /// Frees the pool. It must not be called inside the `work` function of run().
  void free_pool() { pool_.reset(); }

  // The functions below may be called only inside the `work` function of run().

  /// Runs all pending input through the model.
  void read_input();

  /// Draws one token per pass for each sequence, until `see` returns false for that sequence. `see`
  /// gets the index of the sequence in `sequences`.
  void draw(std::span<const std::int64_t> sequences, const SeeToken& see);

  /// Draws tokens until all sequences have ended. Drops each sequence when it ends, and calls `see`
  /// with its index in `sequences` and its completion. A sequence ends with a stop id, after
  /// `max_new_tokens` tokens, or when no learned position is left for the next token.
  void complete(const std::vector<std::int64_t>& sequences, std::int64_t max_new_tokens,
                const SeeCompletion& see);

  /// Returns why `completion` ends after its last token; nullopt if it continues. `length` is the
  /// number of tokens of its sequence, including the prompt.
  std::optional<FinishReason> end_of(const Completion& completion, std::int64_t length,
                                     std::int64_t max_new_tokens) const;

  /// Calls `make` on each rank of the model, and adds the lists of all ranks element by element.
  /// Returns the sums, [count], on all ranks. If `make` returns fewer than `count` numbers on a
  /// rank, the missing numbers count as 0. If `make` throws on one rank, all ranks throw.
  std::vector<double> sum_over_ranks(std::size_t count,
                                     const std::function<std::vector<double>()>& make);

protected:
  const LanguageModel& model() const { return *model_; }
  DecodeSession& session() { return *session_; }

  /// Calls `step`. If `step` fails on one rank of the model, it must throw on all ranks. While
  /// `step` runs, and after it has thrown, is_together_ is true, so that run() rethrows the
  /// exception instead of throwing cluster::DivergedFailure.
  /// Ranks: collective over the ranks of the model
  void together(const std::function<void()>& step);

private:
  const LanguageModel* model_;
  DecodeConfig config_;
  std::optional<DecodePool> pool_;
  std::optional<DecodeSession> session_;
  bool is_together_ = false;  // true: an exception that is thrown now is thrown on all ranks
};

}  // namespace mgpu::lm
