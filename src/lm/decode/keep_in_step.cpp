#include <exception>
#include <limits>
#include <new>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>

#include "generation_batch.hpp"
#include "lm/forward/token_runs.hpp"

// How a rank of a model that cannot go on with a pass, for want of memory, say, keeps the others in
// step until all know.
namespace mgpu::lm {
namespace {

bool is_out_of_memory(const std::exception& error) {
  return report_of(error).exit == ExitCode::out_of_memory;
}

/// Whether the ranks that share sums still meet after `error` in the head.
bool can_be_told(const std::exception& error) {
  if (dynamic_cast<const cluster::LoneFailure*>(&error) != nullptr) return false;
  if (dynamic_cast<const cluster::TogetherError*>(&error) != nullptr) return false;  // all know
  return dynamic_cast<const Failure*>(&error) != nullptr || is_out_of_memory(error);
}

}  // namespace

/// A step of this rank; not done when it has failed before.
void GenerationBatch::attempt(const std::function<void()>& step) {
  if (queue_.own_failure) return;
  try {
    step();
  } catch (const cluster::LoneFailure&) {
    throw;  // the ranks do not meet any more
  } catch (const std::exception& error) {
    if (model_.peers() == nullptr) throw;
    if (model_.shard().is_summand && !is_out_of_memory(error)) throw;
    queue_.own_failure = report_of(error);
  }
}

/// What the layers here give.
at::Tensor GenerationBatch::hidden_of(std::span<const TokenRun> runs) {
  if (model_.peers() != nullptr) model_.peers()->begin_pass(model_.sums_of(runs));
  at::Tensor hidden;  // [W, D]
  attempt([&] {
    if (failpoint("generate.pass").error != 0) throw std::bad_alloc();
    hidden = model_.hidden(runs, cache_);
  });
  return queue_.own_failure ? skip(runs) : hidden;
}

/// Numbers that mean nothing, [W, D]. In a pipeline they are none, and the rank with the head finds
/// nothing to draw from them.
at::Tensor GenerationBatch::skip(std::span<const TokenRun> runs) {
  const auto [rows, wanted] = count_rows(runs);
  if (model_.shard().is_summand) {
    const at::Tensor nothing = queue_.spare.narrow(0, 0, rows);
    model_.peers()->skip(nothing);
    return nothing.narrow(0, 0, wanted);
  }
  const at::Tensor nothing =
      at::full({rows, model_.config().width}, std::numeric_limits<float>::quiet_NaN(),
               cache_.keys(0).options());
  model_.peers()->skip(nothing);
  return nothing.narrow(0, 0, has_head() ? wanted : 0);
}

/// Draws where the head is, and lets all ranks know.
void GenerationBatch::conclude(const at::Tensor& hidden, const std::vector<at::Tensor>& grown) {
  is_under_way_ = true;
  ShardPeers* peers = model_.peers();
  if (peers == nullptr) {
    outcome_ = judge(hidden, grown);
    return;
  }
  if (!has_head()) return;
  const PassOutcome outcome =
      model_.shard().is_summand ? judge_together(hidden, grown) : judge_at_the_end(hidden, grown);
  if (peers->is_speaker()) peers->announce(to_bytes(outcome));
}

/// In a pipeline, whose last rank has the head for itself.
PassOutcome GenerationBatch::judge_at_the_end(const at::Tensor& hidden,
                                              const std::vector<at::Tensor>& grown) {
  try {
    return judge(hidden, grown);
  } catch (const cluster::LoneFailure&) {
    throw;
  } catch (const std::exception& error) {
    PassOutcome outcome;
    outcome.failure = report_of(error);
    return outcome;
  }
}

/// Where ranks share sums. One that has failed comes to the next agreement in the head, or to the
/// one behind it; all have the same outcome.
PassOutcome GenerationBatch::judge_together(const at::Tensor& hidden,
                                            const std::vector<at::Tensor>& grown) {
  PassOutcome outcome;
  std::exception_ptr failure;
  try {
    try {
      if (queue_.own_failure) throw Failure(*std::exchange(queue_.own_failure, std::nullopt));
      outcome = judge(hidden, grown);
    } catch (const std::exception& error) {
      if (!can_be_told(error)) throw;
      failure = std::current_exception();
    }
    model_.peers()->agree(failure);
  } catch (const cluster::TogetherError& error) {
    outcome.failure = error.report();
  }
  return outcome;
}

}  // namespace mgpu::lm
