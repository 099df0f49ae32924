#include "generation_batch.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

namespace mgpu::lm {
namespace {

DecodeConfig session_config(const GenerationConfig& config) {
  DecodeConfig result{config.sampling, config.prefill_tokens, config.stop_ids};
  if (config.max_new_tokens > 0) result.processors = config.processors;
  return result;
}

}  // namespace

GenerationBatch::GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                                 const GenerationWatch& watch, AdmissionQueue& queue,
                                 DecodePool& pool, std::int64_t pages)
    : model_(model),
      config_(config),
      watch_(watch),
      queue_(queue),
      session_(model, pool, session_config(config)),
      pages_(pages),
      page_tokens_(pool.cache().page_tokens()) {}

bool GenerationBatch::step() {
  if (session_.is_drawing() && !apply_outcome()) return false;
  admit();
  if (prefills_.empty() && active_.empty() && continuations_.empty()) return false;
  const std::int64_t ahead = steps_ahead();
  if (ahead > 1) {
    grow(ahead);
    return true;
  }
  look_at(session_.pass());
  activate_sequences();
  draw();
  return true;
}

void GenerationBatch::drop_shared_prefix() {
  if (queue_.shared_prefix.sequence >= 0) session_.drop(queue_.shared_prefix.sequence);
}

bool GenerationBatch::apply_outcome() {
  const std::optional<Drawn> drawn = session_.take();
  if (!drawn) return false;
  auto score = drawn->scores.begin();
  for (const ScoresFor& scores : scores_) {
    const auto end = score + static_cast<std::ptrdiff_t>(scores.count);
    scores.all->insert(scores.all->end(), std::exchange(score, end), end);
  }
  for (std::size_t i = 0; i < active_.size(); ++i)
    append(active_[i], drawn->tokens[i]);
  evict_finished();
  return true;
}

/// Starts to prefill prompts, in order, until the batch is full, too few pages are left, or the
/// next prompt has to wait for the common prefix.
void GenerationBatch::admit() {
  auto sequences = static_cast<std::int64_t>(active_.size());
  for (const Prefill& prefill : prefills_)
    sequences += queue_.prompt(prefill.prompt).num_samples - prefill.next_sample;
  while (!queue_.is_empty() && sequences < config_.batch_size) {
    if (queue_.waits_for_shared_prefix()) return;
    if (!pages_.reserve(queue_.pages_to_reserve(queue_.next()))) return;
    sequences += queue_.next().num_samples;
    open(queue_.take());
  }
}

void GenerationBatch::open(std::size_t index) {
  const Prompt& prompt = queue_.prompt(index);
  const SharedPrefix& prefix = queue_.shared_prefix;
  const bool has_prefix = prefix.sequence >= 0;
  // The last completion continues the prompt's sequence, so the sequence gets the random stream
  // (`sample`) of the last completion.
  const std::uint64_t sample = prompt.sample + static_cast<std::uint64_t>(prompt.num_samples) - 1;
  Prefill prefill{index};
  prefill.sequence = has_prefix ? session_.fork(prefix.sequence, sample) : session_.add(sample);
  prefill.seen = has_prefix ? prefix.pages * page_tokens_ : 0;
  session_.prefill(prefill.sequence, prompt.ids.subspan(static_cast<std::size_t>(prefill.seen)),
                   {.length = size_of(prompt), .shows_all = looks_at_prompts()});
  prefills_.push_back(std::move(prefill));
}

/// Requests the scores of the continuation tokens of a pass. With GenerationConfig::scores_prompts,
/// also requests the scores of the prompt tokens of the pass. If there is a SeeHidden callback
/// and this rank has the head, also requests a call with the hidden states of the prompt tokens.
void GenerationBatch::look_at(const PassView& view) {
  scores_.clear();
  pieces_.clear();
  std::int64_t first_row = view.hidden.defined() ? view.hidden.size(0) : 0;
  for (const SeenPiece& piece : view.pieces) {
    const auto prefill = std::find_if(
        prefills_.begin(), prefills_.end(),
        [&](const Prefill& candidate) { return candidate.sequence == piece.sequence; });
    if (prefill == prefills_.end()) {
      add_continuation(piece, view);
      continue;
    }
    if (pieces_.empty()) first_row = piece.row;
    add_piece(*prefill, piece, view);
  }
  if (!watch_.see_hidden || pieces_.empty() || !has_head()) return;
  requests_.look = [this, rows = view.hidden.slice(0, first_row)] {
    watch_.see_hidden(pieces_, rows);
  };
}

void GenerationBatch::add_piece(Prefill& prefill, const SeenPiece& piece, const PassView& view) {
  const Prompt& prompt = queue_.prompt(prefill.prompt);
  const auto first = static_cast<std::size_t>(prefill.seen);
  const auto count = static_cast<std::size_t>(piece.count);
  pieces_.push_back({prefill.prompt, first, count});
  prefill.seen += piece.count;
  keep_shared_prefix(prefill);
  if (piece.is_last && has_head() && !prompt.continuations.empty())
    prefill.last = view.hidden.narrow(0, piece.row + piece.rows - 1, 1);
  if (!config_.scores_prompts) return;
  // The last token of a prompt has no next token.
  const auto targets =
      prompt.ids.subspan(first + 1, std::min(count, prompt.ids.size() - first - 1));
  request(targets, rows_of(view, piece.row, std::ssize(targets)),
          queue_.results[prefill.prompt].prompt_log_probs);
}

/// When the first prompt has filled the cache pages of the shared prefix, adds a sequence that
/// keeps these pages for later prompts.
void GenerationBatch::keep_shared_prefix(const Prefill& prefill) {
  SharedPrefix& prefix = queue_.shared_prefix;
  const bool is_there = prefill.seen >= prefix.pages * page_tokens_;
  if (prefix.pages == 0 || prefix.sequence >= 0 || !is_there) return;
  prefix.sequence = session_.fork_pages(prefill.sequence, prefix.pages, 0);
}

/// Returns the hidden states row .. row + count - 1 of a pass, [count, D]. They are undefined on
/// ranks without the head.
at::Tensor GenerationBatch::rows_of(const PassView& view, std::int64_t row,
                                    std::int64_t count) const {
  return has_head() ? view.hidden.narrow(0, row, count) : at::Tensor();
}

void GenerationBatch::request(std::span<const std::int64_t> targets, const at::Tensor& rows,
                              std::vector<float>& scores) {
  if (targets.empty()) return;
  requests_.scored.push_back({rows, targets});
  scores_.push_back({&scores, targets.size()});
}

void GenerationBatch::draw() {
  session_.draw(active_sequences(), requests_);
  requests_ = {};
}

}  // namespace mgpu::lm
