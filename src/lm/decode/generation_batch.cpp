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
  if (session_.is_drawing() && !take_in()) return false;
  admit();
  if (openings_.empty() && lines_.empty() && followings_.empty()) return false;
  const std::int64_t ahead = steps_ahead();
  if (ahead > 1) {
    grow(ahead);
    return true;
  }
  look_at(session_.pass());
  begin_lines();
  draw();
  return true;
}

void GenerationBatch::drop_beginning() {
  if (queue_.beginning.sequence >= 0) session_.drop(queue_.beginning.sequence);
}

bool GenerationBatch::take_in() {
  const std::optional<Drawn> drawn = session_.take();
  if (!drawn) return false;
  auto score = drawn->scores.begin();
  for (const ScoresFor& wanted : scores_) {
    const auto end = score + static_cast<std::ptrdiff_t>(wanted.count);
    wanted.all->insert(wanted.all->end(), std::exchange(score, end), end);
  }
  for (std::size_t i = 0; i < lines_.size(); ++i)
    append(lines_[i], drawn->tokens[i]);
  retire();
  return true;
}

/// Opens prompts in order until the batch is full or no pages are left.
void GenerationBatch::admit() {
  auto wanted = static_cast<std::int64_t>(lines_.size());
  for (const Opening& opening : openings_)
    wanted += queue_.prompt(opening.prompt).num_samples - opening.next_sample;
  while (!queue_.is_empty() && wanted < config_.batch_size) {
    if (queue_.waits_for_beginning()) return;
    if (!pages_.promise(queue_.promise_of(queue_.next()))) return;
    wanted += queue_.next().num_samples;
    open(queue_.take());
  }
}

void GenerationBatch::open(std::size_t index) {
  const Prompt& prompt = queue_.prompt(index);
  const SharedBeginning& beginning = queue_.beginning;
  const bool has_beginning = beginning.sequence >= 0;
  // The last completion continues the prompt's sequence.
  const std::uint64_t sample = prompt.sample + static_cast<std::uint64_t>(prompt.num_samples) - 1;
  Opening opening{index};
  opening.sequence =
      has_beginning ? session_.fork(beginning.sequence, sample) : session_.add(sample);
  opening.seen = has_beginning ? beginning.pages * page_tokens_ : 0;
  session_.prefill(opening.sequence, prompt.ids.subspan(static_cast<std::size_t>(opening.seen)),
                   {.length = size_of(prompt), .shows_all = looks_at_prompts()});
  openings_.push_back(std::move(opening));
}

/// Requests scores for the tokens of a pass.
void GenerationBatch::look_at(const PassView& view) {
  scores_.clear();
  pieces_.clear();
  std::int64_t first_row = view.hidden.defined() ? view.hidden.size(0) : 0;
  for (const SeenPiece& piece : view.pieces) {
    const auto opening = std::find_if(
        openings_.begin(), openings_.end(),
        [&](const Opening& candidate) { return candidate.sequence == piece.sequence; });
    if (opening == openings_.end()) {
      add_continuation(piece, view);
      continue;
    }
    if (pieces_.empty()) first_row = piece.row;
    add_piece(*opening, piece, view);
  }
  if (!watch_.see_hidden || pieces_.empty() || !has_head()) return;
  requests_.look = [this, rows = view.hidden.slice(0, first_row)] {
    watch_.see_hidden(pieces_, rows);
  };
}

void GenerationBatch::add_piece(Opening& opening, const SeenPiece& piece, const PassView& view) {
  const Prompt& prompt = queue_.prompt(opening.prompt);
  const auto first = static_cast<std::size_t>(opening.seen);
  const auto count = static_cast<std::size_t>(piece.count);
  pieces_.push_back({opening.prompt, first, count});
  opening.seen += piece.count;
  keep_beginning(opening);
  if (piece.is_last && has_head() && !prompt.continuations.empty())
    opening.last = view.hidden.narrow(0, piece.row + piece.rows - 1, 1);
  if (!config_.scores_prompts) return;
  // The last token of a prompt has no next token.
  const auto targets =
      prompt.ids.subspan(first + 1, std::min(count, prompt.ids.size() - first - 1));
  request(targets, rows_of(view, piece.row, std::ssize(targets)),
          queue_.results[opening.prompt].prompt_log_probs);
}

/// Keeps the first prompt's shared pages for later prompts.
void GenerationBatch::keep_beginning(const Opening& opening) {
  SharedBeginning& beginning = queue_.beginning;
  const bool is_there = opening.seen >= beginning.pages * page_tokens_;
  if (beginning.pages == 0 || beginning.sequence >= 0 || !is_there) return;
  beginning.sequence = session_.fork_pages(opening.sequence, beginning.pages, 0);
}

/// Returns states of a pass, [count, D]; undefined on ranks without the head.
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
  session_.draw(sequences_of_lines(), requests_);
  requests_ = {};
}

}  // namespace mgpu::lm
