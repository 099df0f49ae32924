#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/decode/realignment.hpp>

// Shapes in this header: S sequences, M latent steps, N states, D width.
namespace mgpu::lm {

/// Changes the states from which the inputs of latent step `step` are made, [S, D] float32 in host
/// memory. All ranks of a model must make the same changes.
using ChangeStates = std::function<void(std::int64_t step, const at::Tensor& states)>;

/// Receives the index of a completion that has ended, and the completion.
using SeeCompletion = std::function<void(std::size_t index, Completion completion)>;

/// Runs sequences that think in latent steps: the last hidden state of a sequence, mapped by a
/// Realignment, is its next input. All sequences of a call make their steps in one batch. On the
/// CPU the bits of a sequence do not depend on the others, even its forks.
///
/// Ranks:  as for DecodeSession
class LatentSession {
public:
  /// Model and realignment have to outlive this object.
  LatentSession(const LanguageModel& model, const Realignment& realignment, DecodeConfig config);

  /// Calls `work` with an empty session, whose pool has room for `sizes`. The pool is kept for the
  /// next call. After a failure it is dropped.
  ///
  /// Errors: those of `work`. In a group, cluster::DivergedFailure for an exception that was thrown
  ///         on this rank alone; std::bad_alloc or a Failure with ExitCode::out_of_memory on all
  ///         ranks, which may retry with fewer sequences.
  void run(const PagedCache::Sizes& sizes, const std::function<void(DecodeSession&)>& work);

  // The other functions may only be called by the `work` of run().

  /// Runs all pending input through the model.
  void read_input();

  /// Makes `steps` latent steps with each sequence. Returns the states from which the inputs were
  /// made, [S, M, D] float32 in host memory, after `change`.
  at::Tensor think(std::span<const std::int64_t> sequences, std::int64_t steps,
                   const ChangeStates& change = {});

  /// Returns the entropy of the next token after each of these states, [N] float64 in nats. `states`
  /// is [N, D] float32 in host memory, the same on all ranks.
  at::Tensor entropies(const at::Tensor& states);

  /// Draws tokens until all sequences have ended. Drops each sequence when it ends, and calls `see`
  /// with its index in `sequences` and its completion. A sequence ends with a stop id, after
  /// `max_new_tokens` tokens, or when no learned position is left for the next token.
  void complete(std::vector<std::int64_t> sequences, std::int64_t max_new_tokens,
                const SeeCompletion& see);

private:
  DecodeSession& session() { return *session_; }
  std::optional<FinishReason> end_of(const Completion& completion, std::int64_t length,
                                     std::int64_t max_new_tokens) const;
  void together(const std::function<void()>& step);

  const LanguageModel* model_;
  const Realignment* realignment_;
  DecodeConfig config_;
  std::optional<DecodePool> pool_;
  std::optional<DecodeSession> session_;
  bool is_together_ = false;  // true: all ranks know of an exception that is thrown now
};

}  // namespace mgpu::lm
