#include "generation_batch.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

namespace mgpu::language {
namespace {

std::int64_t size_of(const Prompt& prompt) {
  return static_cast<std::int64_t>(prompt.ids.size());
}

at::Tensor targets_of(std::span<const std::int64_t> ids, const at::Tensor& like) {
  const std::vector<std::int64_t> values(ids.begin(), ids.end());
  return at::tensor(values, at::TensorOptions().dtype(at::kLong)).to(like.device());
}

}  // namespace

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

GenerationBatch::GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                                 const StopText& stop_text, std::span<const Prompt> prompts,
                                 PagedCache& cache)
    : model_(model),
      config_(config),
      stop_text_(stop_text),
      prompts_(prompts),
      cache_(cache),
      sampler_(config.sampling),
      results_(prompts.size()),
      pages_(cache.free_pages()) {
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    unfinished_.push_back(prompts[p].num_samples);
    if (config.max_new_tokens > 0)
      results_[p].completions.resize(static_cast<std::size_t>(prompts[p].num_samples));
  }
}

std::vector<PromptResult> GenerationBatch::finish() {
  for (;;) {
    admit();
    if (openings_.empty() && lines_.empty()) return std::move(results_);
    const at::Tensor grown = pass();  // [lines, D]
    std::vector<at::Tensor> hidden = begin_lines();
    hidden.insert(hidden.begin(), grown);
    draw(at::cat(hidden));
    retire();
  }
}

std::int64_t GenerationBatch::pages_of(std::int64_t tokens) const {
  return (tokens + cache_.page_tokens() - 1) / cache_.page_tokens();
}

/// Opens prompts in their order until there are completions for all places, or no pages left.
void GenerationBatch::admit() {
  auto wanted = static_cast<std::int64_t>(lines_.size());
  for (const Opening& opening : openings_)
    wanted += prompts_[opening.prompt].num_samples - opening.next_sample;
  while (next_prompt_ < prompts_.size() && wanted < config_.batch_size) {
    const Prompt& prompt = prompts_[next_prompt_];
    const std::int64_t needed = pages_of(cached_tokens(model_.config(), config_, prompt));
    if (promised_ + needed > pages_) return;
    promised_ += needed;
    wanted += prompt.num_samples;
    openings_.push_back({next_prompt_++, cache_.add(), 0, 0, {}});
  }
}

/// The newest token of each line and the next pieces of prompts, through the model. Returns the
/// hidden states of the lines.
at::Tensor GenerationBatch::pass() {
  std::vector<TokenRun> runs;
  for (const Line& line : lines_)
    runs.push_back({std::span(line.tokens).last(1), line.sequence});
  std::int64_t budget = config_.prefill_tokens;
  std::vector<std::pair<Opening*, std::int64_t>> pieces;
  for (Opening& opening : openings_) {
    const Prompt& prompt = prompts_[opening.prompt];
    const std::int64_t count = std::min(budget, size_of(prompt) - opening.seen);
    if (count == 0) continue;
    const auto piece =
        prompt.ids.subspan(static_cast<std::size_t>(opening.seen), static_cast<std::size_t>(count));
    runs.push_back({piece, opening.sequence, size_of(prompt)});
    pieces.emplace_back(&opening, count);
    budget -= count;
  }
  const at::Tensor hidden = model_.hidden(runs, cache_);  // [N, D]
  auto row = static_cast<std::int64_t>(lines_.size());
  for (const auto& [opening, count] : pieces) {
    if (config_.scores_prompts) score_piece(*opening, count, hidden.narrow(0, row, count));
    opening->seen += count;
    row += count;
    if (opening->seen == size_of(prompts_[opening->prompt]))
      opening->last_hidden = hidden.narrow(0, row - 1, 1).clone();
  }
  return hidden.narrow(0, 0, static_cast<std::int64_t>(lines_.size()));
}

/// Log-probabilities of the tokens behind those of a piece, [count, D].
void GenerationBatch::score_piece(const Opening& opening, std::int64_t count,
                                  const at::Tensor& hidden) {
  const std::span<const std::int64_t> ids = prompts_[opening.prompt].ids;
  const auto first = static_cast<std::size_t>(opening.seen) + 1;
  const std::size_t scored = std::min(static_cast<std::size_t>(count), ids.size() - first);
  if (scored == 0) return;
  const at::Tensor targets = targets_of(ids.subspan(first, scored), hidden);
  const at::Tensor rows = hidden.narrow(0, 0, static_cast<std::int64_t>(scored));
  const at::Tensor log_probs = apply_head(model_, rows, targets, 0).log_probs.cpu();
  const float* values = log_probs.const_data_ptr<float>();
  std::vector<float>& all = results_[opening.prompt].prompt_log_probs;
  all.insert(all.end(), values, values + scored);
}

/// Begins completions of prompts that were seen whole; returns what their first tokens are drawn
/// from, [1, D] each.
std::vector<at::Tensor> GenerationBatch::begin_lines() {
  std::vector<at::Tensor> hidden;
  for (Opening& opening : openings_) {
    if (!opening.last_hidden.defined()) continue;
    if (config_.max_new_tokens == 0) {
      close(opening);
      continue;
    }
    while (opening.next_sample < prompts_[opening.prompt].num_samples && begin_line(opening))
      hidden.push_back(opening.last_hidden);
  }
  std::erase_if(openings_, [&](const Opening& opening) {
    return opening.next_sample == prompts_[opening.prompt].num_samples;
  });
  return hidden;
}

/// False when there is no place, or no pages.
bool GenerationBatch::begin_line(Opening& opening) {
  const Prompt& prompt = prompts_[opening.prompt];
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
  const Prompt& prompt = prompts_[opening.prompt];
  cache_.remove(opening.sequence);
  promised_ -= pages_of(cached_tokens(model_.config(), config_, prompt));
  opening.next_sample = prompt.num_samples;
}

void GenerationBatch::draw(const at::Tensor& hidden) {
  std::vector<DrawSite> sites;
  for (const Line& line : lines_) {
    const Prompt& prompt = prompt_of(line);
    sites.push_back({prompt.sample + static_cast<std::uint64_t>(line.index),
                     static_cast<std::uint32_t>(line.log_probs.size()), line.tokens});
  }
  const std::vector<DrawnToken> tokens = sampler_.draw(model_, hidden, sites);
  for (std::size_t i = 0; i < lines_.size(); ++i)
    append(lines_[i], tokens[i]);
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
  else if (stop_text_ && stop_text_(prompt.sample + static_cast<std::uint64_t>(line.index),
                                    std::span(line.tokens).subspan(prompt.ids.size())))
    reason = FinishReason::stop_text;
  else if (count == config_.max_new_tokens)
    reason = FinishReason::length;
  else if (count == completion_limit(model_.config(), config_, prompt))
    reason = FinishReason::context;
  else
    return;
  line.is_done = true;
  Completion& out = results_[line.prompt].completions[static_cast<std::size_t>(line.index)];
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
  if (--unfinished_[line.prompt] == 0)
    promised_ -= pages_of(cached_tokens(model_.config(), config_, prompt_of(line)));
}

}  // namespace mgpu::language
