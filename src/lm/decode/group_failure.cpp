#include "group_failure.hpp"

#include <exception>
#include <limits>
#include <new>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>

#include "lm/forward/sequence_spans.hpp"

namespace mgpu::lm {
namespace {

bool is_out_of_memory(const ErrorReport& report) {
  return report.exit == ExitCode::out_of_memory;
}

/// Returns whether this rank can report `error`, an exception of the head's work, to the other
/// ranks in ShardPeers::throw_if_any_failed(). This requires that all tensor-parallel ranks have
/// made the same collective calls so far.
bool can_be_told(const std::exception& error) {
  if (dynamic_cast<const cluster::DivergedFailure*>(&error) != nullptr) return false;
  // All ranks know of a CollectiveFailure already.
  if (dynamic_cast<const cluster::CollectiveFailure*>(&error) != nullptr) return false;
  return dynamic_cast<const Failure*>(&error) != nullptr || is_out_of_memory(report_of(error));
}

}  // namespace

void run_on_all_or_fail(ShardPeers* peers, const std::function<void()>& step) {
  enum Outcome { done, failed, out_of_memory };
  int mine = done;
  const std::exception_ptr failure = cluster::failure_of(step);
  if (failure) mine = is_out_of_memory(report_of(failure)) ? out_of_memory : failed;
  const int worst = peers == nullptr ? mine : peers->all_reduce_max(mine);
  if (worst == done) return;
  if (mine == worst) std::rethrow_exception(failure);
  if (worst == failed) throw Error("another rank of the model failed");
  throw Failure(report_of(std::bad_alloc()));
}

void GroupFailure::reserve(std::int64_t rows, const at::TensorOptions& options) {
  if (!lacks(rows)) return;
  dummy_rows_ = at::zeros({rows, model_->config().hidden_size}, options);
}

bool GroupFailure::lacks(std::int64_t rows) const {
  return model_->shard().is_tensor_parallel &&
         (!dummy_rows_.defined() || dummy_rows_.size(0) < rows);
}

void GroupFailure::attempt(const std::function<void()>& step) {
  if (own_) return;
  const std::exception_ptr failure = cluster::failure_of(step);
  if (!failure) return;
  const ErrorReport report = report_of(failure);
  const bool ranks_meet = model_->peers() != nullptr &&
                          (!model_->shard().is_tensor_parallel || is_out_of_memory(report));
  if (!ranks_meet) std::rethrow_exception(failure);
  own_ = report;
}

at::Tensor GroupFailure::hidden(std::span<const SequenceSpan> spans, PagedCache& cache) {
  const std::int64_t rows = count_rows(spans).tokens;
  const at::TensorOptions options = cache.keys(0).options().dtype(at::kFloat);
  // All ranks have the same number of rows, so either all ranks or no ranks enter this collective
  // call.
  if (lacks(rows)) run_on_all_or_fail(model_->peers(), [&] { reserve(rows, options); });
  if (model_->peers() != nullptr) model_->peers()->begin_pass(model_->all_reduce_rows(spans));
  at::Tensor hidden;  // [W, D]
  attempt([&] {
    if (failpoint("generate.pass").error != 0) throw std::bad_alloc();
    hidden = model_->hidden(spans, cache);
  });
  return own_ ? dummy_hidden(spans, options) : hidden;
}

/// Takes part in the communication of a pass that this rank cannot compute. Returns meaningless
/// numbers in the shape of the hidden states: [output rows, D], or [0, D] on ranks without the
/// head. In a pipeline, the numbers are NaN, so the rank with the head cannot draw from them.
at::Tensor GroupFailure::dummy_hidden(std::span<const SequenceSpan> spans,
                                      const at::TensorOptions& options) {
  const auto [rows, outputs] = count_rows(spans);
  if (model_->shard().is_tensor_parallel) {
    const at::Tensor nothing = dummy_rows_.narrow(0, 0, rows);
    model_->peers()->participate_without_result(nothing);
    return nothing.narrow(0, 0, outputs);
  }
  const at::Tensor nothing = at::full({rows, model_->config().hidden_size},
                                      std::numeric_limits<float>::quiet_NaN(), options);
  model_->peers()->participate_without_result(nothing);
  return nothing.narrow(0, 0, model_->shard().has_head ? outputs : 0);
}

void GroupFailure::publish_outcome(const std::function<PassOutcome()>& work) {
  ShardPeers* peers = model_->peers();
  if (peers == nullptr) {
    outcome_ = work();
    return;
  }
  if (!model_->shard().has_head) return;
  const PassOutcome outcome =
      model_->shard().is_tensor_parallel ? work_together(work) : work_at_the_end(work);
  if (peers->is_broadcast_root()) peers->post_broadcast(to_bytes(outcome));
}

/// Runs the head's work in a pipeline, where only the last rank has the head. Returns its results,
/// or the failure of this rank.
PassOutcome GroupFailure::work_at_the_end(const std::function<PassOutcome()>& work) {
  PassOutcome outcome;
  outcome.failure = own_;
  if (own_) return outcome;
  const std::exception_ptr failure = cluster::failure_of([&] { outcome = work(); });
  if (failure) outcome.failure = report_of(failure);
  return outcome;
}

/// Runs the head's work with tensor parallelism. A rank that has failed calls
/// ShardPeers::throw_if_any_failed() without running `work`. The other ranks learn of the failure
/// in their next call of throw_if_any_failed(), in `work` or after it. All ranks return the same
/// outcome.
PassOutcome GroupFailure::work_together(const std::function<PassOutcome()>& work) {
  PassOutcome outcome;
  std::exception_ptr failure;
  try {
    try {
      if (own_) throw Failure(*std::exchange(own_, std::nullopt));
      outcome = work();
    } catch (const std::exception& error) {
      if (!can_be_told(error)) throw;
      failure = std::current_exception();
    }
    model_->peers()->throw_if_any_failed(failure);
  } catch (const cluster::CollectiveFailure& error) {
    outcome.failure = error.report();
  }
  return outcome;
}

PassOutcome GroupFailure::receive_outcome() {
  if (model_->peers() == nullptr) return std::move(outcome_);
  PassOutcome outcome = outcome_from_bytes(model_->peers()->receive_broadcast());
  if (outcome.failure) known_ = own_ ? own_ : outcome.failure;
  return outcome;
}

void GroupFailure::check() {
  run_on_all_or_fail(model_->peers(), [&] {
    if (own_) throw Failure(*own_);
  });
}

}  // namespace mgpu::lm
