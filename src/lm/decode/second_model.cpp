#include <algorithm>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/second_model.hpp>

namespace mgpu::lm {

SecondModelProcessor::SecondModelProcessor(const LanguageModel& model,
                                           const PagedCache::Sizes& sizes,
                                           std::int64_t prefill_tokens)
    : model_(&model), sizes_(sizes), has_own_sizes_(true), prefill_tokens_(prefill_tokens) {}

SecondModelProcessor::SecondModelProcessor(const LanguageModel& model, std::int64_t prefill_tokens)
    : model_(&model), sizes_{.pages = 0}, has_own_sizes_(false), prefill_tokens_(prefill_tokens) {}

bool SecondModelProcessor::allows_shared_prefixes() const {
  return model_->config().rope.kind != RopeKind::dynamic;
}

void SecondModelProcessor::begins(const PoolDemand& demand) {
  if (has_own_sizes_) return;
  constexpr std::int64_t kPagesOfFork = 1;  // a copy of the last page, or a new page
  PagedCache::Sizes needed = demand.cache;
  needed.pages += demand.rows * candidates() * kPagesOfFork;
  const bool has_room = sizes_.page_tokens == needed.page_tokens && sizes_.type == needed.type &&
                        sizes_.pages >= needed.pages;
  if (has_room) return;
  sizes_ = needed;
  reset();
}

void SecondModelProcessor::added(std::int64_t sequence) {
  missed_.emplace_back([this, sequence] { mine_[sequence] = session_->add(); });
}

void SecondModelProcessor::forked(std::int64_t origin, std::int64_t copy, std::int64_t tokens) {
  missed_.emplace_back([=, this] { follow_fork(origin, copy, tokens); });
}

void SecondModelProcessor::given(std::int64_t sequence, const GivenTokens& tokens) {
  const PrefillOptions options{.length = tokens.length};
  if (tokens.embeddings.defined()) {
    missed_.emplace_back([this, sequence, options, embeddings = tokens.embeddings] {
      run_passes();
      session_->prefill(mine(sequence), embeddings, options);
    });
    return;
  }
  std::vector<std::int64_t> ids(tokens.ids.begin(), tokens.ids.end());
  missed_.emplace_back([this, sequence, options, ids = std::move(ids)] {
    if (session_->is_waiting(mine(sequence))) run_passes();
    session_->prefill(mine(sequence), ids, options);
  });
}

void SecondModelProcessor::drawn(std::span<const DrawSite> rows, const at::Tensor& ids) {
  std::vector<std::int64_t> sequences;
  for (const DrawSite& row : rows)
    sequences.push_back(row.sequence);
  missed_.emplace_back([this, sequences = std::move(sequences), ids] {
    std::vector<std::int64_t> own;
    for (const std::int64_t sequence : sequences)
      own.push_back(mine(sequence));
    session_->feed(own, ids);
  });
}

void SecondModelProcessor::dropped(std::int64_t sequence) {
  missed_.emplace_back([this, sequence] {
    session_->drop(mine(sequence));
    mine_.erase(sequence);
  });
}

void SecondModelProcessor::follow_fork(std::int64_t origin, std::int64_t copy,
                                       std::int64_t tokens) {
  run_passes();  // processes pending input first, so that the fork need not process it again
  if (tokens == session_->length(mine(origin))) {
    mine_[copy] = session_->fork(mine(origin), 0);
    return;
  }
  if (tokens % sizes_.page_tokens != 0)
    throw Error("SecondModelProcessor: page_tokens that do not divide those of the first pool");
  mine_[copy] = session_->fork_pages(mine(origin), tokens / sizes_.page_tokens, 0);
}

void SecondModelProcessor::run_passes() {
  while (session_->has_input())
    session_->pass();
}

void SecondModelProcessor::reset() {
  missed_.clear();
  mine_.clear();
  session_.reset();
  pool_.reset();
}

void SecondModelProcessor::catch_up() {
  if (!pool_) pool_.emplace(*model_, sizes_);
  if (!session_) session_.emplace(*model_, *pool_, DecodeConfig{.prefill_tokens = prefill_tokens_});
  for (const std::function<void()>& event : std::exchange(missed_, {}))
    event();
  run_passes();
}

at::Tensor SecondModelProcessor::states(std::span<const DrawSite> rows) {
  catch_up();
  std::vector<std::int64_t> own;
  for (const DrawSite& row : rows)
    own.push_back(mine(row.sequence));
  return session_->hidden(own);
}

at::Tensor SecondModelProcessor::states_after(std::span<const DrawSite> rows,
                                              const at::Tensor& ids) {
  catch_up();
  const std::int64_t candidates = ids.size(1);
  std::vector<std::int64_t> forks;
  for (const DrawSite& row : rows)
    for (std::int64_t k = 0; k < candidates; ++k)
      forks.push_back(session_->fork(mine(row.sequence), 0));
  session_->feed(forks, ids.reshape({-1}));
  session_->pass();
  const at::Tensor hidden = session_->hidden(forks);  // [N * K, D]
  for (const std::int64_t fork : forks)
    session_->drop(fork);
  return hidden.view({ids.size(0), candidates, -1});
}

}  // namespace mgpu::lm
