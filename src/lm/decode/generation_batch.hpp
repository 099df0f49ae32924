#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "admission_queue.hpp"

// Shapes in this header: D width.
namespace mgpu::lm {

/// What looks on while a Generator works; it outlives the batches.
struct GenerationWatch {
  const StopText& stop_text;
  const SeeHidden& see_hidden;
};

/// Sequences of prompts that go through a decode session together. What a turn draws is taken when
/// the next one begins: on a group of ranks several batches are on their way at once, and all ranks
/// decide alike because all take the same.
///
/// A prompt's sequence is filled in pieces; each completion but the last forks it, the last one
/// goes on with it. What a prompt was promised is free again when all its completions are done, for
/// they share it.
class GenerationBatch {
public:
  /// At most config.batch_size completions at a time, and `pages` of the pool.
  GenerationBatch(const LanguageModel& model, const GenerationConfig& config,
                  const GenerationWatch& watch, AdmissionQueue& queue, DecodePool& pool,
                  std::int64_t pages);

  /// Takes what the last turn gave and begins the next one. False when there is nothing left to do,
  /// or a rank has failed.
  bool step();

  /// Drops what is on its way.
  void forget() { session_.forget(); }

  /// Gives back the pages of the beginning that prompts share, after the last step.
  void drop_beginning();

private:
  /// A prompt whose completions have not all begun.
  struct Opening {
    std::size_t prompt = 0;
    std::int64_t sequence = 0;
    std::int64_t seen = 0;         // tokens in the cache
    std::int64_t next_sample = 0;  // completions begun
    at::Tensor last{};             // [1, D] state of its last token, in the pass that has it
  };

  /// A completion that grows.
  struct Line {
    std::size_t prompt = 0;
    std::int64_t index = 0;  // among the prompt's completions
    std::int64_t sequence = 0;
    std::int64_t promised = 0;  // pages; 0 in the prompt's own sequence
    Completion completion{};
    bool is_done = false;
  };

  /// A continuation whose tokens go through the model, but the last.
  struct Following {
    std::size_t prompt = 0;
    std::size_t index = 0;  // among the prompt's continuations
    std::int64_t sequence = 0;
  };

  /// Where the scores of a turn belong.
  struct ScoresFor {
    std::vector<float>* all;
    std::size_t count;
  };

  bool take_in();
  void admit();
  void open(std::size_t index);
  void look_at(const PassView& view);
  void add_piece(Opening& opening, const SeenPiece& piece, const PassView& view);
  void add_continuation(const SeenPiece& piece, const PassView& view);
  void keep_beginning(const Opening& opening);
  std::int64_t steps_ahead() const;
  void grow(std::int64_t steps);
  std::vector<std::int64_t> sequences_of_lines() const;
  void begin_lines();
  bool begin_line(Opening& opening);
  void close(Opening& opening);
  void begin_continuations(const Opening& opening);
  at::Tensor rows_of(const PassView& view, std::int64_t row, std::int64_t count) const;
  void request(std::span<const std::int64_t> targets, const at::Tensor& rows,
               std::vector<float>& scores);
  void draw();
  void append(Line& line, const DrawnToken& token);
  std::optional<FinishReason> end_of(const Line& line) const;
  void retire();
  bool looks_at_prompts() const { return config_.scores_prompts || watch_.see_hidden; }
  bool has_head() const { return model_.shard().has_head; }

  const LanguageModel& model_;
  GenerationConfig config_;
  GenerationWatch watch_;
  AdmissionQueue& queue_;
  DecodeSession session_;
  PageBudget pages_;
  std::int64_t page_tokens_;
  std::deque<Opening> openings_;
  std::deque<Following> followings_;
  std::vector<Line> lines_;

  // Of the turn under way.
  HeadRequests requests_;
  std::vector<ScoresFor> scores_;
  std::vector<PromptPiece> pieces_;
};

}  // namespace mgpu::lm
