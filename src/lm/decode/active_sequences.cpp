// Starts, extends and ends the completions that a GenerationBatch draws, and the given
// continuations whose tokens it scores (Prompt::continuations).
#include <algorithm>
#include <iterator>
#include <utility>

#include "generation_batch.hpp"

namespace mgpu::lm {

/// For each prompt whose prefill has ended, starts as many of its completions as the batch and the
/// free pages allow. If max_new_tokens is 0, starts to score the prompt's continuations instead.
void GenerationBatch::activate_sequences() {
  for (Prefill& prefill : prefills_) {
    const Prompt& prompt = queue_.prompt(prefill.prompt);
    if (prefill.seen < size_of(prompt)) continue;
    if (config_.max_new_tokens == 0) {
      close(prefill);
      continue;
    }
    while (prefill.next_sample < prompt.num_samples && activate_sequence(prefill)) {
    }
  }
  std::erase_if(prefills_, [&](const Prefill& prefill) {
    return prefill.next_sample == queue_.prompt(prefill.prompt).num_samples;
  });
}

/// Starts the next completion of a prompt. Returns false, and starts no completion, if the batch is
/// full or too few pages are free.
bool GenerationBatch::activate_sequence(Prefill& prefill) {
  const Prompt& prompt = queue_.prompt(prefill.prompt);
  if (std::ssize(active_) >= config_.batch_size) return false;
  ActiveSequence active{prefill.prompt, prefill.next_sample, prefill.sequence};
  if (prefill.next_sample + 1 < prompt.num_samples) {
    active.reserved_pages = queue_.pages_to_reserve_for_fork(prompt);
    if (!pages_.reserve(active.reserved_pages)) return false;
    active.sequence =
        session_.fork(prefill.sequence, prompt.sample + static_cast<std::uint64_t>(active.index));
  }
  active_.push_back(std::move(active));
  ++prefill.next_sample;
  return true;
}

/// Starts to score a prompt's continuations (Prompt::continuations), if it has any. Then drops the
/// sequence of the prompt itself.
void GenerationBatch::close(Prefill& prefill) {
  begin_continuations(prefill);
  session_.drop(prefill.sequence);
  prefill.next_sample = queue_.prompt(prefill.prompt).num_samples;
}

/// Requests the score of the first token of each continuation. The prompt's last hidden state
/// predicts this token. If a continuation has several tokens, the function also forks the prompt's
/// sequence, and prefills all tokens of the continuation except the last one into the fork.
void GenerationBatch::begin_continuations(const Prefill& prefill) {
  const Prompt& prompt = queue_.prompt(prefill.prompt);
  std::int64_t unfinished = 0;
  for (std::size_t i = 0; i < prompt.continuations.size(); ++i) {
    const std::span ids(prompt.continuations[i]);
    request(ids.first(1), prefill.last, queue_.results[prefill.prompt].continuation_log_probs[i]);
    if (ids.size() == 1) continue;
    const std::int64_t sequence = session_.fork(prefill.sequence, prompt.sample);
    const std::int64_t length = size_of(prompt) + std::ssize(ids) - 1;
    session_.prefill(sequence, ids.first(ids.size() - 1),
                     {.length = length, .shows_all = true, .goes_first = true});
    continuations_.push_back({prefill.prompt, i, sequence});
    ++unfinished;
  }
  queue_.set_unfinished(prefill.prompt, unfinished);
  if (unfinished == 0) pages_.give_back(queue_.pages_to_reserve(prompt));
}

/// Processes `piece`, a part of a continuation. Requests the scores of the tokens that the hidden
/// states of `piece` predict. If `piece` is the last part, ends the continuation.
void GenerationBatch::add_continuation(const SeenPiece& piece, const PassView& view) {
  const auto continuation = std::find_if(
      continuations_.begin(), continuations_.end(),
      [&](const Continuation& candidate) { return candidate.sequence == piece.sequence; });
  const Prompt& prompt = queue_.prompt(continuation->prompt);
  const std::span ids(prompt.continuations[continuation->index]);
  request(
      ids.subspan(static_cast<std::size_t>(piece.first) + 1, static_cast<std::size_t>(piece.count)),
      rows_of(view, piece.row, piece.count),
      queue_.results[continuation->prompt].continuation_log_probs[continuation->index]);
  if (!piece.is_last) return;
  session_.drop(piece.sequence);
  if (queue_.end_sequence(continuation->prompt)) pages_.give_back(queue_.pages_to_reserve(prompt));
  continuations_.erase(continuation);
}

std::vector<std::int64_t> GenerationBatch::active_sequences() const {
  std::vector<std::int64_t> sequences;
  for (const ActiveSequence& active : active_)
    sequences.push_back(active.sequence);
  return sequences;
}

/// Returns how many tokens each sequence draws before the host reads the drawn tokens. The result
/// is 1 if some prompt's completions have not all started, a continuation is being scored, there is
/// a stop text, or DecodeSession::can_step_ahead() is false.
std::int64_t GenerationBatch::steps_ahead() const {
  if (!prefills_.empty() || !continuations_.empty()) return 1;
  if (watch_.stop_text || !session_.can_step_ahead()) return 1;
  std::int64_t steps = model_.sizes().steps_per_read;
  for (const ActiveSequence& active : active_)
    steps =
        std::min(steps, completion_limit(model_.config(), config_, queue_.prompt(active.prompt)) -
                            std::ssize(active.completion.ids));
  return steps;
}

void GenerationBatch::grow(std::int64_t steps) {
  const auto drawn = DecodeSession::read(session_.steps(active_sequences(), steps));
  for (std::size_t i = 0; i < active_.size(); ++i)
    for (const DrawnToken& token : drawn[i])
      append(active_[i], token);
  evict_finished();
}

void GenerationBatch::append(ActiveSequence& active, const DrawnToken& token) {
  active.completion.ids.push_back(token.id);
  active.completion.log_probs.push_back(token.log_prob);
  if (config_.processors.candidate != nullptr)
    active.completion.divergences.push_back(token.divergence);
  const std::optional<FinishReason> reason = end_of(active);
  if (!reason) return;
  active.completion.reason = *reason;
  active.is_done = true;
}

/// Returns why a completion ends with its last token, or no value if it continues.
std::optional<FinishReason> GenerationBatch::end_of(const ActiveSequence& active) const {
  const Prompt& prompt = queue_.prompt(active.prompt);
  const std::vector<std::int64_t>& ids = active.completion.ids;
  const auto& stops = config_.stop_ids;
  if (std::find(stops.begin(), stops.end(), ids.back()) != stops.end())
    return FinishReason::stop_id;
  if (watch_.stop_text &&
      watch_.stop_text(prompt.sample + static_cast<std::uint64_t>(active.index), ids))
    return FinishReason::stop_text;
  if (std::ssize(ids) + prompt.begun == config_.max_new_tokens) return FinishReason::length;
  if (std::ssize(ids) == completion_limit(model_.config(), config_, prompt))
    return FinishReason::context;
  return std::nullopt;
}

void GenerationBatch::evict_finished() {
  for (ActiveSequence& active : active_) {
    if (!active.is_done) continue;
    session_.drop(active.sequence);
    pages_.give_back(active.reserved_pages);
    if (queue_.end_sequence(active.prompt))
      pages_.give_back(queue_.pages_to_reserve(queue_.prompt(active.prompt)));
    queue_.results[active.prompt].completions[static_cast<std::size_t>(active.index)] =
        std::move(active.completion);
  }
  std::erase_if(active_, [](const ActiveSequence& active) { return active.is_done; });
}

}  // namespace mgpu::lm
