#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/language/generator.hpp>

// Shapes in this header: N rows of a pass, D width.
namespace mgpu::language {

/// How many tokens a completion may have: max_new_tokens, or what learned positions leave.
std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt);

/// Tokens that a prompt with one completion puts into the cache.
std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt);

/// One run of a Generator: what is in the cache, and what waits.
///
/// A prompt's sequence is filled in pieces; each completion but the last forks it, the last one
/// goes on with it. Pages are promised before a sequence begins, so that none is ever stuck: what
/// a prompt was promised is free again when all its completions are done, for they share it.
class GenerationBatch {
public:
  GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                  const StopText& stop_text, std::span<const Prompt> prompts, PagedCache& cache);

  /// Works until every prompt is complete.
  std::vector<PromptResult> finish();

private:
  /// A prompt whose completions have not all begun.
  struct Opening {
    std::size_t prompt = 0;
    std::int64_t sequence = 0;
    std::int64_t seen = 0;         // tokens in the cache
    std::int64_t next_sample = 0;  // completions begun
    at::Tensor last_hidden;        // [1, D] of the last token, when it was seen
  };

  /// A completion that grows.
  struct Line {
    std::size_t prompt = 0;
    std::int64_t index = 0;  // among the prompt's completions
    std::int64_t sequence = 0;
    std::vector<std::int64_t> tokens;  // prompt and completion; the last is not in the cache
    std::vector<float> log_probs;
    std::int64_t promised = 0;  // pages; 0 in the prompt's own sequence
    bool is_done = false;
  };

  void admit();
  at::Tensor pass();
  void score_piece(const Opening& opening, std::int64_t count, const at::Tensor& hidden);
  std::vector<at::Tensor> begin_lines();
  bool begin_line(Opening& opening);
  void close(Opening& opening);
  void draw(const at::Tensor& hidden);
  void append(Line& line, const DrawnToken& token);
  void retire();
  void release(const Line& line);

  std::int64_t pages_of(std::int64_t tokens) const;
  const Prompt& prompt_of(const Line& line) const { return prompts_[line.prompt]; }

  const LanguageModel& model_;
  const GenerationConfig& config_;
  const StopText& stop_text_;
  std::span<const Prompt> prompts_;
  PagedCache& cache_;
  Sampler sampler_;
  std::vector<PromptResult> results_;
  std::size_t next_prompt_ = 0;
  std::int64_t promised_ = 0;
  std::int64_t pages_;                    // of the cache
  std::vector<std::int64_t> unfinished_;  // [prompts] completions to come
  std::deque<Opening> openings_;
  std::vector<Line> lines_;
};

}  // namespace mgpu::language
