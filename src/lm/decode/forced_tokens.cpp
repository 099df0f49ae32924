#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "generation_batch.hpp"

// Tokens that are given instead of drawn: continuations of prompts, and beginnings that prompts
// share.
namespace mgpu::lm {

std::int64_t GenerationBatch::promise_of(const Prompt& prompt) const {
  return pages_needed(model_.config(), config_, prompt) - queue_.beginning.pages;
}

/// Gives the newest opening its sequence; returns the tokens that it has already.
std::int64_t GenerationBatch::open_next() {
  const SharedBeginning& beginning = queue_.beginning;
  const bool has_beginning = beginning.sequence >= 0;
  openings_.back().sequence = has_beginning ? cache_.fork(beginning.sequence) : cache_.add();
  return has_beginning ? beginning.pages * cache_.page_tokens() : 0;
}

/// Lets the prompts to come have the pages of the first one.
void GenerationBatch::keep_beginning(const Opening& opening) {
  SharedBeginning& beginning = queue_.beginning;
  const bool is_there = opening.seen >= beginning.pages * cache_.page_tokens();
  if (beginning.pages == 0 || beginning.sequence >= 0 || !is_there) return;
  // A rank that has failed only counts along.
  beginning.sequence =
      queue_.own_failure ? cache_.add() : cache_.fork(opening.sequence, beginning.pages);
}

/// The next tokens of continuations; returns what they leave of the budget.
std::int64_t GenerationBatch::add_followings(std::vector<TokenRun>& runs, std::int64_t budget) {
  forced_.clear();
  for (Following& following : followings_) {
    const std::span ids(queue_.prompts[following.prompt].continuations[following.index]);
    const std::int64_t count = std::min(budget, std::ssize(ids) - 1 - following.seen);
    if (count == 0) break;
    const auto first = static_cast<std::size_t>(following.seen);
    const auto size = static_cast<std::size_t>(count);
    runs.push_back({ids.subspan(first, size), following.sequence});
    forced_.push_back({following.prompt, following.index, ids.subspan(first + 1, size), {}});
    following.seen += count;
    budget -= count;
  }
  return budget;
}

/// Takes what the pass gave for continuations, from `row` on; those that are through end.
void GenerationBatch::force(const at::Tensor& hidden, std::int64_t row) {
  for (Forced& forced : forced_) {
    const std::int64_t count = std::ssize(forced.ids);
    if (has_head()) forced.rows = hidden.narrow(0, row, count);
    row += count;
  }
  std::erase_if(followings_, [this](const Following& following) {
    const auto& ids = queue_.prompts[following.prompt].continuations[following.index];
    if (following.seen + 1 < std::ssize(ids)) return false;
    cache_.remove(following.sequence);
    if (--queue_.unfinished[following.prompt] == 0)
      promised_ -= promise_of(queue_.prompts[following.prompt]);
    return true;
  });
}

/// A prompt was seen whole: the first token of each continuation is scored behind it, and the
/// others go on from its pages.
void GenerationBatch::begin_continuations(const Opening& opening) {
  const Prompt& prompt = queue_.prompts[opening.prompt];
  std::int64_t& unfinished = queue_.unfinished[opening.prompt];
  unfinished = 0;
  for (std::size_t i = 0; i < prompt.continuations.size(); ++i) {
    const std::span ids(prompt.continuations[i]);
    forced_.push_back({opening.prompt, i, ids.first(1), opening.last_hidden});
    if (ids.size() == 1) continue;
    followings_.push_back({opening.prompt, i, cache_.fork(opening.sequence), 0});
    ++unfinished;
  }
  if (unfinished == 0) promised_ -= promise_of(prompt);
}

void GenerationBatch::score_forced(std::vector<float>& scores) {
  if (forced_.empty()) return;
  std::vector<at::Tensor> rows;
  std::vector<std::int64_t> ids;
  for (const Forced& forced : forced_) {
    rows.push_back(forced.rows);
    ids.insert(ids.end(), forced.ids.begin(), forced.ids.end());
  }
  const at::Tensor hidden = at::cat(rows);  // [n, D]
  const at::Tensor targets = at::tensor(ids, at::TensorOptions().dtype(at::kLong));
  const at::Tensor log_probs =
      apply_head(model_, hidden, targets.to(hidden.device()), 0).log_probs.cpu();
  const float* values = log_probs.const_data_ptr<float>();
  scores.insert(scores.end(), values, values + ids.size());
}

void GenerationBatch::take_in_forced(std::span<const float> scores) {
  for (const Forced& forced : forced_) {
    std::vector<float>& all = queue_.results[forced.prompt].continuation_log_probs[forced.index];
    const auto mine = scores.first(forced.ids.size());
    all.insert(all.end(), mine.begin(), mine.end());
    scores = scores.subspan(mine.size());
  }
}

}  // namespace mgpu::lm
