#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "pass_outcome.hpp"

// Shapes in this header: N rows of a pass, W those whose states are wanted, D width.
namespace mgpu::lm {

/// Runs `step` on the ranks that hold a model. If it fails on one of them, all ranks throw: a
/// failure for want of memory goes before what followed from it on other ranks.
///
/// Ranks: collective over `peers`, which may be nullptr for a whole model.
void settle(ShardPeers* peers, const std::function<void()>& step);

/// Keeps the ranks of a model in step when one of them fails in a pass, for want of memory for
/// example. That rank goes on with meaningless numbers until all ranks know. One object serves all
/// passes that are in flight.
class GroupFailure {
public:
  explicit GroupFailure(const LanguageModel& model) : model_(&model) {}

  /// Sets memory aside for passes of up to `rows` rows, which a failed rank takes part in sums
  /// with. Does nothing where ranks share no sums.
  void reserve(std::int64_t rows, const at::TensorOptions& options);

  /// Whether this rank has failed and the others do not know yet.
  bool is_own() const { return own_.has_value(); }

  /// The failure that all ranks know; as this rank saw it, if it was its own.
  const std::optional<Report>& known() const { return known_; }

  /// A step of this rank; skipped after a failure. Keeps what it throws where the ranks still meet.
  void attempt(const std::function<void()>& step);

  /// The model's hidden states of a pass, [W, D]; meaningless numbers after a failure. Reserves
  /// memory first for a pass with more rows than any before.
  /// Ranks: collective over those of the model
  at::Tensor hidden(std::span<const TokenRun> runs, PagedCache& cache);

  /// Runs the head's work on the ranks that have the head, and tells all ranks what came of it.
  /// Ranks: all of the model; those without the head return at once.
  void conclude(const std::function<PassOutcome()>& work);

  /// What the oldest conclude() that was not heard has told; a failure in it becomes known().
  PassOutcome hear();

  /// Errors: on all ranks, when one of them has failed.
  /// Ranks:  collective over those of the model
  void check();

private:
  bool lacks(std::int64_t rows) const;
  at::Tensor skip(std::span<const TokenRun> runs, const at::TensorOptions& options);
  PassOutcome work_at_the_end(const std::function<PassOutcome()>& work);
  PassOutcome work_together(const std::function<PassOutcome()>& work);

  const LanguageModel* model_;
  at::Tensor spare_;             // [N, D] float32
  std::optional<Report> own_;    // of this rank
  std::optional<Report> known_;  // to all
  PassOutcome outcome_;          // of a whole model
};

}  // namespace mgpu::lm
