#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/path_session.hpp>
#include <mgpu/lm/decode/realignment.hpp>

// Shapes in this header: S sequences, M latent steps, N states, D width.
namespace mgpu::lm {

/// Changes `states` in place, [S, D] float32 in host memory. The inputs of latent step `step` are
/// made from these states. All ranks of a model must make the same changes.
using ChangeStates = std::function<void(std::int64_t step, const at::Tensor& states)>;

/// Runs sequences that think in latent steps: the last hidden state of a sequence, mapped by a
/// Realignment, is its next input. All sequences of a call of think() make their steps in one
/// batch.
///
/// Ranks:  as for PathSession
class LatentSession : public PathSession {
public:
  /// Model and realignment have to outlive this object.
  LatentSession(const LanguageModel& model, const Realignment& realignment, DecodeConfig config);

  // The functions below may be called only inside the `work` function of PathSession::run().

  /// Makes `steps` latent steps with each sequence. Returns the states of all steps, including the
  /// changes by `change`, [S, M, D] float32 in host memory.
  ///
  /// Errors: Error when a sequence has pending input.
  at::Tensor think(std::span<const std::int64_t> sequences, std::int64_t steps,
                   const ChangeStates& change = {});

  /// Returns, for each state, the entropy of the model's distribution of the next token, [N]
  /// float64 in nats, in host memory. `states` is [N, D] float32 in host memory, the same on all
  /// ranks.
  at::Tensor entropies(const at::Tensor& states);

private:
  const Realignment* realignment_;
};

}  // namespace mgpu::lm
