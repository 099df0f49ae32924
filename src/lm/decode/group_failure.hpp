#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "pass_outcome.hpp"

// Shapes in this header: N rows of a pass, W rows whose states are returned, D width.
namespace mgpu::lm {

/// Runs `step` on the ranks that hold a model. If `step` fails on one rank, all ranks throw. If
/// several ranks fail, lack of memory takes precedence over other failures.
///
/// Ranks:  collective over `peers`, which is nullptr if the model is on one rank.
void run_on_all_or_fail(ShardPeers* peers, const std::function<void()>& step);

/// Lets the ranks of a model continue to make the same collective calls when one rank fails in a
/// pass, for example for lack of memory. The failed rank continues with meaningless numbers until
/// all ranks know of the failure. One object serves all passes that are running at the same time.
class GroupFailure {
public:
  explicit GroupFailure(const LanguageModel& model) : model_(&model) {}

  /// Reserves memory for passes of up to `rows` rows. A failed rank uses this memory to take part
  /// in all-reduces. Does nothing without tensor parallelism.
  void reserve(std::int64_t rows, const at::TensorOptions& options);

  /// Returns whether this rank has failed in a pass. With tensor parallelism, the result is false
  /// again when the other ranks know of the failure.
  bool is_own() const { return own_.has_value(); }

  /// Returns the failure that receive_outcome() has made known to all ranks; empty until then. If
  /// this rank has failed itself (see is_own()), the result is this rank's report instead.
  const std::optional<ErrorReport>& known() const { return known_; }

  /// Runs `step`, unless this rank has failed before. If `step` throws, the failure is stored, so
  /// that this rank can continue to make the same collective calls as the other ranks. The
  /// exception is rethrown instead in two cases:
  /// - The model is on one rank.
  /// - With tensor parallelism, the failure is not a lack of memory.
  void attempt(const std::function<void()>& step);

  /// Returns the model's hidden states of a pass, [W, D], or [0, D] on ranks without the head. If a
  /// rank has failed, the numbers are meaningless. With tensor parallelism, if the pass has more
  /// rows than the memory from reserve(), the function first enlarges this memory.
  ///
  /// Ranks: collective over the ranks of the model
  at::Tensor hidden(std::span<const SequenceSpan> spans, PagedCache& cache);

  /// Runs `work` on the ranks that have the head, and sends the outcome to all ranks.
  /// Ranks:  all ranks of the model; those without the head return immediately.
  void publish_outcome(const std::function<PassOutcome()>& work);

  /// Returns the oldest outcome of publish_outcome() that this rank has not received yet. If that
  /// outcome has a failure, known() returns a failure from then on.
  PassOutcome receive_outcome();

  /// Throws on all ranks if one of them has failed.
  /// Ranks:  collective over the ranks of the model
  void check();

private:
  bool lacks(std::int64_t rows) const;
  at::Tensor dummy_hidden(std::span<const SequenceSpan> spans, const at::TensorOptions& options);
  PassOutcome work_at_the_end(const std::function<PassOutcome()>& work);
  PassOutcome work_together(const std::function<PassOutcome()>& work);

  const LanguageModel* model_;
  at::Tensor dummy_rows_;             // [N, D] float32, the memory from reserve()
  std::optional<ErrorReport> own_;    // failure of this rank
  std::optional<ErrorReport> known_;  // failure that all ranks know
  PassOutcome outcome_;  // result of the next receive_outcome(), if the model is on one rank
};

}  // namespace mgpu::lm
