#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/generator.hpp>

// Shapes in this header: N rows of a pass, W those whose states are wanted, D width.
namespace mgpu::lm {

inline std::int64_t size_of(const Prompt& prompt) {
  return static_cast<std::int64_t>(prompt.ids.size());
}

/// How many tokens a completion may have: max_new_tokens, or what learned positions leave.
std::int64_t completion_limit(const LmConfig& model, const GenerationConfig& config,
                              const Prompt& prompt);

/// Tokens that a prompt with one completion puts into the cache.
std::int64_t cached_tokens(const LmConfig& model, const GenerationConfig& config,
                           const Prompt& prompt);

/// Pages that a prompt with one completion, or with its continuations, takes at most.
std::int64_t pages_needed(const LmConfig& model, const GenerationConfig& config,
                          const Prompt& prompt);

/// Beginnings that prompts share, as whole pages.
struct SharedBeginning {
  std::int64_t pages = 0;      // 0: there is none
  std::int64_t sequence = -1;  // in the cache, once the first prompt has gone so far
};

/// What the batches of one run of a Generator have in common.
struct GenerationQueue {
  std::span<const Prompt> prompts;
  std::vector<PromptResult> results{};
  std::vector<std::int64_t> unfinished{};  // [prompts] completions to come
  std::size_t next_prompt = 0;
  SharedBeginning beginning{};
  std::optional<Report> failure{};      // of any rank of the model: nothing goes on
  std::optional<Report> own_failure{};  // of this one, which only keeps up until all know
  at::Tensor spare{};  // [N, D] float32 of any pass, where ranks share sums; for one that keeps up

  GenerationQueue(std::span<const Prompt> prompts, const GenerationConfig& config);
};

/// What comes of one pass, where the head is.
struct PassOutcome {
  std::vector<float> scores;       // of prompts, piece by piece, and then of continuations
  std::vector<DrawnToken> tokens;  // of each line
  std::optional<Report> failure;
};
std::string to_bytes(const PassOutcome& outcome);
PassOutcome outcome_from_bytes(const std::string& bytes);

/// What looks on while a Generator works; it outlives the batches.
struct GenerationWatch {
  const StopText& stop_text;
  const SeeHidden& see_hidden;
};

/// Sequences that go through the model together. What a pass draws is taken in when the next one
/// begins: on a group of ranks several batches are on their way at once, and all ranks decide
/// alike because all take in the same.
///
/// A prompt's sequence is filled in pieces; each completion but the last forks it, the last one
/// goes on with it. Pages are promised before a sequence begins, so that none is ever stuck: what
/// a prompt was promised is free again when all its completions are done, for they share it.
class GenerationBatch {
public:
  /// At most config.batch_size lines, and `pages` of the cache.
  GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                  const GenerationWatch& watch, GenerationQueue& queue, PagedCache& cache,
                  std::int64_t pages);

  /// Takes in what the last pass gave and begins the next one. False when there is nothing left to
  /// do, or queue.failure is set.
  bool step();

  /// Drops what is on its way.
  void forget();

private:
  /// A prompt whose completions have not all begun.
  struct Opening {
    std::size_t prompt = 0;
    std::int64_t sequence = 0;
    std::int64_t seen = 0;         // tokens in the cache
    std::int64_t next_sample = 0;  // completions begun
    bool is_seen = false;          // whole
    at::Tensor last_hidden;        // [1, D] of its last token, where the head is
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

  /// A continuation whose tokens go through the model, but the last.
  struct Following {
    std::size_t prompt = 0;
    std::size_t index = 0;  // among the prompt's continuations
    std::int64_t sequence = 0;
    std::int64_t seen = 0;  // tokens of it in the cache
  };

  /// Tokens of a continuation that a pass scores.
  struct Forced {
    std::size_t prompt = 0;
    std::size_t index = 0;
    std::span<const std::int64_t> ids;
    at::Tensor rows;  // [ids, D] of the tokens before them, where the head is
  };

  bool has_head() const { return model_.shard().has_head; }
  PassOutcome last_outcome();
  bool take_in(PassOutcome outcome);
  void admit();
  at::Tensor pass();
  at::Tensor hidden_of(std::span<const TokenRun> runs);
  at::Tensor skip(std::span<const TokenRun> runs);
  void attempt(const std::function<void()>& step);
  std::int64_t open_next();
  void keep_beginning(const Opening& opening);
  std::int64_t add_followings(std::vector<TokenRun>& runs, std::int64_t budget);
  void force(const at::Tensor& hidden, std::int64_t row);
  void begin_continuations(const Opening& opening);
  void score_forced(std::vector<float>& scores);
  void take_in_forced(std::span<const float> scores);
  std::vector<at::Tensor> begin_lines();
  bool begin_line(Opening& opening);
  void close(Opening& opening);
  void conclude(const at::Tensor& hidden, const std::vector<at::Tensor>& grown);
  PassOutcome judge_at_the_end(const at::Tensor& hidden, const std::vector<at::Tensor>& grown);
  PassOutcome judge_together(const at::Tensor& hidden, const std::vector<at::Tensor>& grown);
  PassOutcome judge(const at::Tensor& hidden, const std::vector<at::Tensor>& grown);
  bool looks_at_prompts() const { return config_.scores_prompts || watch_.see_hidden; }
  std::size_t scored_count(const PromptPiece& piece) const;
  at::Tensor rows_of_pieces(const at::Tensor& hidden) const;
  void score(const at::Tensor& hidden, std::vector<float>& scores);
  std::vector<DrawnToken> draw(const at::Tensor& hidden);
  void append(Line& line, const DrawnToken& token);
  void retire();
  void release(const Line& line);

  std::int64_t pages_of(std::int64_t tokens) const;
  std::int64_t promise_of(const Prompt& prompt) const;
  const Prompt& prompt_of(const Line& line) const { return queue_.prompts[line.prompt]; }

  const LanguageModel& model_;
  GenerationConfig config_;
  GenerationWatch watch_;
  GenerationQueue& queue_;
  PagedCache& cache_;
  Sampler sampler_;
  std::int64_t promised_ = 0;
  std::int64_t pages_;
  bool is_under_way_ = false;        // a pass whose outcome was not taken in
  PassOutcome outcome_;              // of a whole model
  std::vector<PromptPiece> pieces_;  // of that pass
  std::vector<Forced> forced_;       // by that pass
  std::deque<Opening> openings_;
  std::deque<Following> followings_;
  std::vector<Line> lines_;
};

}  // namespace mgpu::lm
