#include "generation_batch.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/failpoint.hpp>

namespace mgpu::lm {
namespace {

at::Tensor targets_of(std::span<const std::int64_t> ids, const at::Tensor& like) {
  const std::vector<std::int64_t> values(ids.begin(), ids.end());
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(like.device());
}

}  // namespace

GenerationQueue::GenerationQueue(std::span<const Prompt> waiting, const GenerationConfig& config)
    : prompts(waiting), results(waiting.size()) {
  for (std::size_t p = 0; p < waiting.size(); ++p) {
    unfinished.push_back(waiting[p].num_samples);
    results[p].continuation_log_probs.resize(waiting[p].continuations.size());
    if (config.max_new_tokens > 0)
      results[p].completions.resize(static_cast<std::size_t>(waiting[p].num_samples));
  }
}

std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt) {
  if (model.rope.kind != RopeKind::none) return config.max_new_tokens;
  // The last token needs no position: nothing follows it.
  return std::min(config.max_new_tokens, model.positions - size_of(prompt) + 1);
}

std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt) {
  return size_of(prompt) + std::max<std::int64_t>(0, completion_limit(model, config, prompt) - 1);
}

std::int64_t pages_needed(const LmConfig& model, const GenerationConfig& config,
                          const Prompt& prompt) {
  const auto pages_of = [&](std::int64_t tokens) {
    return (tokens + config.page_tokens - 1) / config.page_tokens;
  };
  std::int64_t pages = pages_of(cached_tokens(model, config, prompt));
  for (const std::vector<std::int64_t>& continuation : prompt.continuations)
    if (std::ssize(continuation) > 1)
      pages += pages_of(size_of(prompt) + std::ssize(continuation) - 1) -
               size_of(prompt) / config.page_tokens;
  return pages;
}

GenerationBatch::GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                                 const GenerationWatch& watch, GenerationQueue& queue,
                                 PagedCache& cache, std::int64_t pages)
    : model_(model),
      config_(config),
      watch_(watch),
      queue_(queue),
      cache_(cache),
      sampler_(config.sampling),
      pages_(pages) {}

bool GenerationBatch::step() {
  if (is_under_way_ && !take_in(last_outcome())) return false;
  admit();
  if (openings_.empty() && lines_.empty() && followings_.empty()) return false;
  const auto grown = static_cast<std::int64_t>(lines_.size());
  const at::Tensor hidden = pass();  // [W, D]
  std::vector<at::Tensor> rows = begin_lines();
  if (has_head()) rows.insert(rows.begin(), hidden.narrow(0, 0, grown));
  conclude(hidden, rows);
  return true;
}

void GenerationBatch::forget() {
  if (is_under_way_) last_outcome();
}

PassOutcome GenerationBatch::last_outcome() {
  is_under_way_ = false;
  if (model_.peers() == nullptr) return std::move(outcome_);
  return outcome_from_bytes(model_.peers()->hear());
}

bool GenerationBatch::take_in(PassOutcome outcome) {
  if (outcome.failure) {
    queue_.failure = std::move(outcome.failure);
    return false;
  }
  auto score = outcome.scores.begin();
  for (const PromptPiece& piece : pieces_) {
    const auto end = score + static_cast<std::ptrdiff_t>(scored_count(piece));
    std::vector<float>& all = queue_.results[piece.prompt].prompt_log_probs;
    all.insert(all.end(), std::exchange(score, end), end);
  }
  take_in_forced(std::span<const float>(score, outcome.scores.end()));
  for (std::size_t i = 0; i < lines_.size(); ++i)
    append(lines_[i], outcome.tokens[i]);
  retire();
  return true;
}

PassOutcome GenerationBatch::judge(const at::Tensor& hidden, const std::vector<at::Tensor>& grown) {
  PassOutcome outcome;
  outcome.failure = queue_.own_failure;
  if (outcome.failure) return outcome;
  if (failpoint("generate.head").error != 0) throw std::bad_alloc();
  if (config_.scores_prompts) score(rows_of_pieces(hidden), outcome.scores);
  score_forced(outcome.scores);
  if (watch_.see_hidden && !pieces_.empty()) watch_.see_hidden(pieces_, rows_of_pieces(hidden));
  outcome.tokens = draw(at::cat(grown));
  if (failpoint("generate.drawn").error != 0) throw std::bad_alloc();
  return outcome;
}

std::int64_t GenerationBatch::pages_of(std::int64_t tokens) const {
  return (tokens + cache_.page_tokens() - 1) / cache_.page_tokens();
}

/// Opens prompts in their order until there are completions for all places, or no pages left.
void GenerationBatch::admit() {
  auto wanted = static_cast<std::int64_t>(lines_.size());
  for (const Opening& opening : openings_)
    wanted += queue_.prompts[opening.prompt].num_samples - opening.next_sample;
  while (queue_.next_prompt < queue_.prompts.size() && wanted < config_.batch_size) {
    if (queue_.beginning.sequence < 0 && queue_.beginning.pages > 0 && queue_.next_prompt > 0)
      return;  // the first prompt makes it
    const Prompt& prompt = queue_.prompts[queue_.next_prompt];
    const std::int64_t needed = promise_of(prompt);
    if (promised_ + needed > pages_) return;
    promised_ += needed;
    wanted += prompt.num_samples;
    openings_.push_back({queue_.next_prompt++, 0, 0, 0, false, {}});
    openings_.back().seen = open_next();
  }
}

/// The newest token of each line and then the next pieces of prompts, through the model. Of prompts
/// nobody looks at, only the last token's state is wanted.
at::Tensor GenerationBatch::pass() {
  std::vector<TokenRun> runs;
  for (const Line& line : lines_)
    runs.push_back({std::span(line.tokens).last(1), line.sequence});
  std::int64_t budget = add_followings(runs, config_.prefill_tokens);
  const std::int64_t following_rows = config_.prefill_tokens - budget;
  pieces_.clear();
  std::vector<std::pair<Opening*, TokenRun>> pieces;
  for (Opening& opening : openings_) {
    const Prompt& prompt = queue_.prompts[opening.prompt];
    const std::int64_t count = std::min(budget, size_of(prompt) - opening.seen);
    if (count == 0) continue;
    const auto piece =
        prompt.ids.subspan(static_cast<std::size_t>(opening.seen), static_cast<std::size_t>(count));
    const std::int64_t wanted = opening.seen + count == size_of(prompt) ? 1 : 0;
    runs.push_back({piece, opening.sequence, size_of(prompt), looks_at_prompts() ? count : wanted});
    pieces.emplace_back(&opening, runs.back());
    pieces_.push_back({opening.prompt, static_cast<std::size_t>(opening.seen), piece.size()});
    budget -= count;
  }
  const at::Tensor hidden = hidden_of(runs);  // [W, D]
  auto row = static_cast<std::int64_t>(lines_.size());
  force(hidden, row);
  row += following_rows;
  for (const auto& [opening, run] : pieces) {
    opening->seen += std::ssize(run.ids);
    row += wanted_of(run);
    keep_beginning(*opening);
    opening->is_seen = opening->seen == size_of(queue_.prompts[opening->prompt]);
    if (!opening->is_seen || !has_head()) continue;
    attempt([&] { opening->last_hidden = hidden.narrow(0, row - 1, 1).clone(); });
  }
  return hidden;
}

/// Tokens behind those of a piece: the last of a prompt has none.
std::size_t GenerationBatch::scored_count(const PromptPiece& piece) const {
  if (!config_.scores_prompts) return 0;
  return std::min(piece.count, queue_.prompts[piece.prompt].ids.size() - piece.first - 1);
}

/// Those behind the rows of lines, [n, D], where somebody looks at prompts.
at::Tensor GenerationBatch::rows_of_pieces(const at::Tensor& hidden) const {
  std::int64_t count = 0;
  for (const PromptPiece& piece : pieces_)
    count += static_cast<std::int64_t>(piece.count);
  return hidden.narrow(0, hidden.size(0) - count, count);
}

/// Log-probabilities of the tokens behind those of all pieces.
void GenerationBatch::score(const at::Tensor& hidden, std::vector<float>& scores) {
  std::int64_t row = 0;
  for (const PromptPiece& piece : pieces_) {
    const std::size_t count = scored_count(piece);
    const at::Tensor rows = hidden.narrow(0, row, static_cast<std::int64_t>(count));
    row += static_cast<std::int64_t>(piece.count);
    if (count == 0) continue;
    const auto ids = queue_.prompts[piece.prompt].ids.subspan(piece.first + 1, count);
    const at::Tensor log_probs =
        apply_head(model_, rows, targets_of(ids, hidden), 0).log_probs.cpu();
    const float* values = log_probs.const_data_ptr<float>();
    scores.insert(scores.end(), values, values + count);
  }
}

}  // namespace mgpu::lm
