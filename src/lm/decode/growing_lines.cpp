// How completions and continuations of a GenerationBatch start, grow and end.
#include <algorithm>
#include <iterator>
#include <utility>

#include "generation_batch.hpp"

namespace mgpu::lm {

/// Starts completions and continuations of prompts whose prefill is complete.
void GenerationBatch::begin_lines() {
  for (Opening& opening : openings_) {
    const Prompt& prompt = queue_.prompt(opening.prompt);
    if (opening.seen < size_of(prompt)) continue;
    if (config_.max_new_tokens == 0) {
      close(opening);
      continue;
    }
    while (opening.next_sample < prompt.num_samples && begin_line(opening)) {
    }
  }
  std::erase_if(openings_, [&](const Opening& opening) {
    return opening.next_sample == queue_.prompt(opening.prompt).num_samples;
  });
}

/// Returns false if the batch is full or too few pages are free.
bool GenerationBatch::begin_line(Opening& opening) {
  const Prompt& prompt = queue_.prompt(opening.prompt);
  if (std::ssize(lines_) >= config_.batch_size) return false;
  Line line{opening.prompt, opening.next_sample, opening.sequence};
  if (opening.next_sample + 1 < prompt.num_samples) {
    line.promised = queue_.promise_of_fork(prompt);
    if (!pages_.promise(line.promised)) return false;
    line.sequence =
        session_.fork(opening.sequence, prompt.sample + static_cast<std::uint64_t>(line.index));
  }
  lines_.push_back(std::move(line));
  ++opening.next_sample;
  return true;
}

/// Ends a prompt that is scored only.
void GenerationBatch::close(Opening& opening) {
  begin_continuations(opening);
  session_.drop(opening.sequence);
  opening.next_sample = queue_.prompt(opening.prompt).num_samples;
}

/// Scores the first token of each continuation from the prompt's last state. The other tokens
/// continue from the prompt's pages.
void GenerationBatch::begin_continuations(const Opening& opening) {
  const Prompt& prompt = queue_.prompt(opening.prompt);
  std::int64_t& unfinished = queue_.unfinished[opening.prompt];
  unfinished = 0;
  for (std::size_t i = 0; i < prompt.continuations.size(); ++i) {
    const std::span ids(prompt.continuations[i]);
    request(ids.first(1), opening.last, queue_.results[opening.prompt].continuation_log_probs[i]);
    if (ids.size() == 1) continue;
    const std::int64_t sequence = session_.fork(opening.sequence, prompt.sample);
    session_.prefill(sequence, ids.first(ids.size() - 1), {.shows_all = true, .goes_first = true});
    followings_.push_back({opening.prompt, i, sequence});
    ++unfinished;
  }
  if (unfinished == 0) pages_.give_back(queue_.promise_of(prompt));
}

/// Scores the next tokens of a piece, and ends a continuation that is complete.
void GenerationBatch::add_continuation(const SeenPiece& piece, const PassView& view) {
  const auto following = std::find_if(
      followings_.begin(), followings_.end(),
      [&](const Following& candidate) { return candidate.sequence == piece.sequence; });
  const Prompt& prompt = queue_.prompt(following->prompt);
  const std::span ids(prompt.continuations[following->index]);
  request(
      ids.subspan(static_cast<std::size_t>(piece.first) + 1, static_cast<std::size_t>(piece.count)),
      rows_of(view, piece.row, piece.count),
      queue_.results[following->prompt].continuation_log_probs[following->index]);
  if (!piece.is_last) return;
  session_.drop(piece.sequence);
  if (--queue_.unfinished[following->prompt] == 0) pages_.give_back(queue_.promise_of(prompt));
  followings_.erase(following);
}

std::vector<std::int64_t> GenerationBatch::sequences_of_lines() const {
  std::vector<std::int64_t> sequences;
  for (const Line& line : lines_)
    sequences.push_back(line.sequence);
  return sequences;
}

/// Returns how many tokens all lines can draw before the host has to read them.
std::int64_t GenerationBatch::steps_ahead() const {
  if (!openings_.empty() || !followings_.empty()) return 1;
  if (watch_.stop_text || !session_.can_step_ahead()) return 1;
  std::int64_t steps = model_.sizes().steps_per_read;
  for (const Line& line : lines_)
    steps = std::min(steps, completion_limit(model_.config(), config_, queue_.prompt(line.prompt)) -
                                std::ssize(line.completion.ids));
  return steps;
}

void GenerationBatch::grow(std::int64_t steps) {
  const auto drawn = DecodeSession::read(session_.steps(sequences_of_lines(), steps));
  for (std::size_t i = 0; i < lines_.size(); ++i)
    for (const DrawnToken& token : drawn[i])
      append(lines_[i], token);
  retire();
}

void GenerationBatch::append(Line& line, const DrawnToken& token) {
  line.completion.ids.push_back(token.id);
  line.completion.log_probs.push_back(token.log_prob);
  const std::optional<FinishReason> reason = end_of(line);
  if (!reason) return;
  line.completion.reason = *reason;
  line.is_done = true;
}

/// Returns why a completion ends with its last token, or no value if it continues.
std::optional<FinishReason> GenerationBatch::end_of(const Line& line) const {
  const Prompt& prompt = queue_.prompt(line.prompt);
  const std::vector<std::int64_t>& ids = line.completion.ids;
  const auto& stops = config_.stop_ids;
  if (std::find(stops.begin(), stops.end(), ids.back()) != stops.end())
    return FinishReason::stop_id;
  if (watch_.stop_text &&
      watch_.stop_text(prompt.sample + static_cast<std::uint64_t>(line.index), ids))
    return FinishReason::stop_text;
  if (std::ssize(ids) == config_.max_new_tokens) return FinishReason::length;
  if (std::ssize(ids) == completion_limit(model_.config(), config_, prompt))
    return FinishReason::context;
  return std::nullopt;
}

void GenerationBatch::retire() {
  for (Line& line : lines_) {
    if (!line.is_done) continue;
    session_.drop(line.sequence);
    pages_.give_back(line.promised);
    if (--queue_.unfinished[line.prompt] == 0)
      pages_.give_back(queue_.promise_of(queue_.prompt(line.prompt)));
    queue_.results[line.prompt].completions[static_cast<std::size_t>(line.index)] =
        std::move(line.completion);
  }
  std::erase_if(lines_, [](const Line& line) { return line.is_done; });
}

}  // namespace mgpu::lm
