// Completions of a GenerationBatch: how they begin, grow and end.
#include <algorithm>
#include <utility>

#include "generation_batch.hpp"

namespace mgpu::lm {

/// Begins completions of prompts that were seen whole; returns what their first tokens are drawn
/// from, [1, D] each.
std::vector<at::Tensor> GenerationBatch::begin_lines() {
  std::vector<at::Tensor> hidden;
  for (Opening& opening : openings_) {
    if (!opening.is_seen) continue;
    if (config_.max_new_tokens == 0) {
      close(opening);
      continue;
    }
    while (opening.next_sample < queue_.prompts[opening.prompt].num_samples && begin_line(opening))
      if (has_head()) hidden.push_back(opening.last_hidden);
  }
  std::erase_if(openings_, [&](const Opening& opening) {
    return opening.next_sample == queue_.prompts[opening.prompt].num_samples;
  });
  return hidden;
}

/// False when there is no place, or no pages.
bool GenerationBatch::begin_line(Opening& opening) {
  const Prompt& prompt = queue_.prompts[opening.prompt];
  if (static_cast<std::int64_t>(lines_.size()) >= config_.batch_size) return false;
  Line line{opening.prompt, opening.next_sample, opening.sequence, {}, {}, 0, false};
  if (opening.next_sample + 1 < prompt.num_samples) {
    const std::int64_t tokens = cached_tokens(model_.config(), config_, prompt);
    line.promised = pages_of(tokens) - size_of(prompt) / cache_.page_tokens();
    if (promised_ + line.promised > pages_) return false;
    promised_ += line.promised;
    line.sequence = cache_.fork(opening.sequence);
  }
  line.tokens.assign(prompt.ids.begin(), prompt.ids.end());
  lines_.push_back(std::move(line));
  ++opening.next_sample;
  return true;
}

/// Ends a prompt that was only scored.
void GenerationBatch::close(Opening& opening) {
  const Prompt& prompt = queue_.prompts[opening.prompt];
  begin_continuations(opening);
  cache_.remove(opening.sequence);
  opening.next_sample = prompt.num_samples;
}

std::vector<DrawnToken> GenerationBatch::draw(const at::Tensor& hidden) {
  std::vector<DrawSite> sites;
  for (const Line& line : lines_) {
    const Prompt& prompt = prompt_of(line);
    sites.push_back({prompt.sample + static_cast<std::uint64_t>(line.index),
                     static_cast<std::uint32_t>(line.log_probs.size()), line.tokens});
  }
  return sampler_.draw(model_, hidden, sites);
}

void GenerationBatch::append(Line& line, const DrawnToken& token) {
  const Prompt& prompt = prompt_of(line);
  line.tokens.push_back(token.id);
  line.log_probs.push_back(token.log_prob);
  const auto count = static_cast<std::int64_t>(line.log_probs.size());
  const auto& stops = config_.stop_ids;
  FinishReason reason{};
  if (std::find(stops.begin(), stops.end(), token.id) != stops.end())
    reason = FinishReason::stop_id;
  else if (watch_.stop_text &&
           watch_.stop_text(prompt.sample + static_cast<std::uint64_t>(line.index),
                            std::span(line.tokens).subspan(prompt.ids.size())))
    reason = FinishReason::stop_text;
  else if (count == config_.max_new_tokens)
    reason = FinishReason::length;
  else if (count == completion_limit(model_.config(), config_, prompt))
    reason = FinishReason::context;
  else
    return;
  line.is_done = true;
  Completion& out = queue_.results[line.prompt].completions[static_cast<std::size_t>(line.index)];
  out.ids.assign(line.tokens.begin() + size_of(prompt), line.tokens.end());
  out.log_probs = std::move(line.log_probs);
  out.reason = reason;
}

void GenerationBatch::retire() {
  for (const Line& line : lines_)
    if (line.is_done) release(line);
  std::erase_if(lines_, [](const Line& line) { return line.is_done; });
}

void GenerationBatch::release(const Line& line) {
  cache_.remove(line.sequence);
  promised_ -= line.promised;
  if (--queue_.unfinished[line.prompt] == 0) promised_ -= promise_of(prompt_of(line));
}

}  // namespace mgpu::lm
