#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/decode/path_session.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "group_failure.hpp"
#include "lm/forward/layer_pass.hpp"

namespace mgpu::lm {

PathSession::PathSession(const LanguageModel& model, DecodeConfig config)
    : model_(&model), config_(std::move(config)) {}

void PathSession::run(const PagedCache::Sizes& sizes,
                      const std::function<void(DecodeSession&)>& work) {
  const at::NoGradGuard no_grad;
  is_together_ = false;
  const std::exception_ptr failure = cluster::failure_of([&] {
    together([&] {
      run_on_all_or_fail(model_->peers(), [&] {
        if (pool_ && pool_->cache().free_pages() >= sizes.pages) return;
        pool_.reset();  // frees the memory of the old pool before the new pool is allocated
        if (failpoint("generate.cache").error != 0) throw std::bad_alloc();
        pool_.emplace(*model_, sizes);
      });
    });
    session_.emplace(*model_, *pool_, config_);
    work(*session_);
  });
  session_.reset();
  if (!failure) return;
  pool_.reset();
  if (model_->peers() == nullptr || is_together_) std::rethrow_exception(failure);
  throw cluster::DivergedFailure(report_of(failure));
}

void PathSession::together(const std::function<void()>& step) {
  is_together_ = true;
  step();
  is_together_ = false;
}

void PathSession::read_input() {
  while (session().has_input())
    session().pass();
}

void PathSession::draw(std::span<const std::int64_t> sequences, const SeeToken& see) {
  std::vector<std::int64_t> active(sequences.begin(), sequences.end());
  std::vector<std::size_t> indices(sequences.size());
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = i;
  while (!active.empty()) {
    std::vector<DrawnToken> tokens;
    together([&] { tokens = session().step(active); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (!see(indices[i], tokens[i])) continue;
      active[kept] = active[i];
      indices[kept++] = indices[i];
    }
    active.resize(kept);
    indices.resize(kept);
  }
}

std::optional<FinishReason> PathSession::end_of(const Completion& completion, std::int64_t length,
                                                std::int64_t max_new_tokens) const {
  const std::vector<std::int64_t>& stops = config_.stop_ids;
  if (std::ranges::find(stops, completion.ids.back()) != stops.end()) return FinishReason::stop_id;
  if (std::ssize(completion.ids) == max_new_tokens) return FinishReason::length;
  const LmConfig& config = model_->config();
  if (config.rope.kind == RopeKind::none && length > config.max_positions)
    return FinishReason::context;
  return std::nullopt;
}

void PathSession::complete(const std::vector<std::int64_t>& sequences, std::int64_t max_new_tokens,
                           const SeeCompletion& see) {
  std::vector<Completion> completions(sequences.size());
  draw(sequences, [&](std::size_t index, const DrawnToken& token) {
    Completion& completion = completions[index];
    completion.ids.push_back(token.id);
    completion.log_probs.push_back(token.log_prob);
    const auto reason = end_of(completion, session().length(sequences[index]), max_new_tokens);
    if (!reason) return true;
    completion.reason = *reason;
    session().drop(sequences[index]);
    see(index, std::move(completion));
    return false;
  });
}

std::vector<double> PathSession::sum_over_ranks(std::size_t count,
                                                const std::function<std::vector<double>()>& make) {
  std::vector<double> values;
  together([&] {
    run_on_all_or_fail(model_->peers(), [&] { values = make(); });
    values.resize(count, 0.0);
    if (model_->peers() == nullptr) return;
    const at::Tensor all = at::tensor(values, options_of(model_->weights()).dtype(at::kDouble));
    model_->peers()->all_reduce(all);
    const at::Tensor host = tensor::read_back(all);
    values.assign(host.const_data_ptr<double>(), host.const_data_ptr<double>() + count);
  });
  return values;
}

}  // namespace mgpu::lm
