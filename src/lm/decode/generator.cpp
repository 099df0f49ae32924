#include <algorithm>
#include <deque>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "generation_batch.hpp"
#include "group_failure.hpp"
#include "lm/forward/batch_shares.hpp"

namespace mgpu::lm {
namespace {

void check_prompt(const LmConfig& model, const Prompt& prompt) {
  const std::string name = "sample " + std::to_string(prompt.sample) + ": ";
  if (prompt.ids.empty()) throw ShapeError(name + "a prompt without tokens");
  if (prompt.num_samples < 1) throw ShapeError(name + "less than one completion");
  const auto count = static_cast<std::int64_t>(prompt.ids.size());
  if (model.rope.kind == RopeKind::none && count > model.max_positions)
    throw ShapeError(name + std::to_string(count) + " tokens in a model of " +
                     std::to_string(model.max_positions) + " positions");
  const auto check_ids = [&](std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      if (id < 0 || id >= model.vocab)
        throw ShapeError(name + "token " + std::to_string(id) + " in a vocabulary of " +
                         std::to_string(model.vocab));
  };
  check_ids(prompt.ids);
  for (const std::vector<std::int64_t>& continuation : prompt.continuations) {
    if (continuation.empty()) throw ShapeError(name + "a continuation without tokens");
    check_ids(continuation);
    // The last token of a continuation needs no position, because it is never an input.
    if (model.rope.kind == RopeKind::none &&
        count + std::ssize(continuation) - 1 > model.max_positions)
      throw ShapeError(name + "a continuation longer than the positions");
  }
}

}  // namespace

Generator::Generator(const LanguageModel& model, GenerationConfig config, StopText stop_text,
                     SeeHidden see_hidden)
    : model_(&model),
      config_(std::move(config)),
      stop_text_(std::move(stop_text)),
      see_hidden_(std::move(see_hidden)) {
  if (config_.max_new_tokens < 0) throw Error("Generator: max_new_tokens is negative");
  set_batch_size(config_.batch_size);
  if (config_.prefill_tokens == 0) config_.prefill_tokens = model.sizes().prefill_tokens;
  if (config_.prefill_tokens < 0) throw Error("Generator: prefill_tokens is negative");
}

void Generator::set_batch_size(std::int64_t batch_size) {
  if (batch_size < 1) throw Error("Generator: batch_size is not at least 1");
  config_.batch_size = batch_size;
  pool_.reset();
}

void Generator::pool_for(std::span<const Prompt> prompts) {
  std::int64_t pages = 0;
  std::int64_t completions = 0;
  for (const Prompt& prompt : prompts) {
    pages = std::max(pages, pages_needed(model_->config(), config_, prompt));
    completions += prompt.num_samples;
  }
  const bool has_forks = completions > static_cast<std::int64_t>(prompts.size());
  std::int64_t share = std::min(share_of_batch(config_.batch_size, batches()), completions);
  if (config_.max_new_tokens == 0)
    share = scored_sequences(share, share_of_prefill(config_.prefill_tokens, batches()),
                             pages * config_.page_tokens);
  const std::int64_t sequences = cached_sequences(share, batches(), has_forks);
  if (!pool_ || pool_->cache().free_pages() < pages * sequences) {
    pool_.reset();  // frees the memory of the old pool before the new pool is allocated
    if (failpoint("generate.cache").error != 0) throw std::bad_alloc();
    pool_.emplace(*model_, PagedCache::Sizes{pages * sequences, config_.page_tokens, pages,
                                             config_.cache_type});
  }
  pool_->reserve_rows(rows_for(prompts, completions));
  if (config_.max_new_tokens == 0) return;
  const PoolDemand demand{{pages * sequences, config_.page_tokens, pages, config_.cache_type},
                          share};
  for (BlockProcessor* processor : config_.processors.blocks)
    processor->begins(demand);
  if (config_.processors.candidate != nullptr) config_.processors.candidate->begins(demand);
}

/// Returns the maximum number of rows of a pass.
std::int64_t Generator::rows_for(std::span<const Prompt> prompts, std::int64_t completions) const {
  std::int64_t tokens = 0;
  for (const Prompt& prompt : prompts) {
    tokens += size_of(prompt);
    for (const std::vector<std::int64_t>& continuation : prompt.continuations)
      tokens += std::ssize(continuation);
  }
  return std::min(config_.batch_size, completions) + std::min(config_.prefill_tokens, tokens);
}

std::vector<PromptResult> Generator::run(std::span<const Prompt> prompts) {
  for (const Prompt& prompt : prompts)
    check_prompt(model_->config(), prompt);
  for (const Prompt& prompt : prompts)
    if (!prompt.continuations.empty() && config_.max_new_tokens > 0)
      throw Error("Generator: continuations where tokens are drawn");
  for (const Prompt& prompt : prompts)
    if (prompt.begun < 0 || prompt.begun >= std::max<std::int64_t>(config_.max_new_tokens, 1))
      throw Error("Generator: a completion that is begun beyond max_new_tokens");
  run_on_all_or_reset([&] { pool_for(prompts); });
  std::vector<PromptResult> results;
  run_on_all_or_reset([&] { results = run_batches(prompts, *pool_); });
  return results;
}

/// Runs `step` on all ranks of the model. After a failure on any rank, frees the pool, because its
/// sequences belong to the failed call. For the same reason, resets the logit processors.
void Generator::run_on_all_or_reset(const std::function<void()>& step) {
  try {
    run_on_all_or_fail(model_->peers(), step);
  } catch (...) {
    pool_.reset();
    const LogitProcessors& processors = config_.processors;
    for (BlockProcessor* processor : processors.blocks)
      processor->reset();
    if (processors.candidate != nullptr) processors.candidate->reset();
    throw;
  }
}

std::vector<PromptResult> Generator::run_batches(std::span<const Prompt> prompts,
                                                 DecodePool& pool) {
  GenerationConfig config = config_;
  config.batch_size = share_of_batch(config_.batch_size, batches());
  config.prefill_tokens = share_of_prefill(config_.prefill_tokens, batches());
  AdmissionQueue queue(model_->config(), prompts, config);
  queue.shared_prefix.pages = shared_tokens(prompts) / config.page_tokens;
  const std::int64_t pages = (pool.cache().free_pages() - queue.shared_prefix.pages) / batches();
  std::deque<GenerationBatch> all;
  for (std::int64_t i = 0; i < batches(); ++i)
    all.emplace_back(*model_, config, GenerationWatch{stop_text_, see_hidden_}, queue, pool, pages);
  const auto turn = [&] {
    bool works = false;
    for (GenerationBatch& batch : all)
      if (!pool.failure()) works = batch.step() || works;
    if (see_progress_) see_progress_(queue.ended());
    return works;
  };
  const std::exception_ptr failure = cluster::failure_of([&] {
    for (bool works = true; works && !pool.failure();)
      works = turn();
  });
  if (failure && model_->peers() == nullptr) std::rethrow_exception(failure);
  if (failure) throw cluster::DivergedFailure(report_of(failure));  // peers may wait in the pass
  if (!pool.failure()) {
    all.front().drop_shared_prefix();
    return std::move(queue.results);
  }
  for (GenerationBatch& batch : all)
    batch.forget();
  throw Failure(*pool.failure());
}

/// Returns whether prompts with a common prefix may share its keys and values. They may not if
/// other states than those of completions are needed. With RopeKind::dynamic, the rotation depends
/// on the length of the prompt, so equal tokens of two prompts have different keys.
bool Generator::allows_shared_prefixes() const {
  const bool is_looked_at = config_.scores_prompts || see_hidden_;
  if (is_looked_at || model_->config().rope.kind == RopeKind::dynamic) return false;
  const LogitProcessors& processors = config_.processors;
  const auto allows = [](const SequenceWatcher* watcher) {
    return watcher->allows_shared_prefixes();
  };
  return std::ranges::all_of(processors.blocks, allows) &&
         (processors.candidate == nullptr || allows(processors.candidate));
}

/// Returns the length of the common prefix that all prompts can share, in tokens; 0 if they cannot
/// share one. At least one token of each prompt is not shared, because its hidden state has to
/// predict the next token.
std::int64_t Generator::shared_tokens(std::span<const Prompt> prompts) const {
  if (prompts.size() < 2 || !allows_shared_prefixes()) return 0;
  std::span<const std::int64_t> shared = prompts.front().ids;
  for (const Prompt& prompt : prompts) {
    shared = shared.first(std::min(shared.size(), prompt.ids.size() - 1));
    const auto differs = std::mismatch(shared.begin(), shared.end(), prompt.ids.begin()).first;
    shared = shared.first(static_cast<std::size_t>(differs - shared.begin()));
  }
  return std::ssize(shared);
}

std::int64_t Generator::batches() const {
  return model_->peers() == nullptr ? 1 : model_->peers()->passes_in_flight();
}

}  // namespace mgpu::lm
