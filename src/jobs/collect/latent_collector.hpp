#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/decode/latent_session.hpp>
#include <mgpu/lm/decode/realignment.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "inputs.hpp"
#include "judge.hpp"
#include "path_scores.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// Answers questions with agents that think in latent steps (LatentMAS). An agent before the judger
/// makes collect.num_paths paths, or a single path if collect.latent.diversity is none. With
/// collect.latent.branch_entropy, it may make fewer paths. The next agent, unless it is the judger,
/// continues the best of these paths, at most collect.num_parent_paths. With
/// collect.latent.pruning, it continues only paths that prune() keeps. The model reads the prompt
/// of the next agent once for each path that this agent continues. All new paths that continue the
/// same path share the cache pages of that path. The paths of all questions in a batch make their
/// latent steps together. With collect.latent.merge_similarity, similar paths of the second agent
/// merge.
///
/// The last agent, the judger, draws answers:
/// - with collect.latent.diversity=none, collect.num_paths answers after the single path
/// - without other agents, collect.num_paths answers after its prompt
/// - otherwise, with collect.latent.pruning, one answer after the best path
/// - otherwise one answer after each path
///
/// Source: LatentMAS, arXiv 2511.20639.
class LatentCollector final : public QuestionCollector {
public:
  /// Keeps references to all arguments, which must outlive this object.
  LatentCollector(const lm::LanguageModel& model, const lm::Realignment& realignment,
                  const QuestionEncoder& encoder, const CollectInputs& inputs);

  std::vector<CollectedQuestion> run(std::span<const Question> questions,
                                     std::int64_t first) override;
  /// Returns the largest number of cache pages that were in use at the same time, since the pool of
  /// pages was made. A batch that needs a larger pool makes a new one.
  std::int64_t most_used_pages() const { return latents_.most_used_pages(); }

  std::int64_t batch_size() const override { return batch_size_; }
  void set_batch_size(std::int64_t batch_size) override { batch_size_ = batch_size; }

private:
  /// A path of a question. Before the current agent branches, it is a path that this agent
  /// continues; afterwards it is a path that this agent makes.
  struct Path {
    std::int32_t node = 0;             // index in Growing::nodes
    std::int64_t sequence = 0;         // number of its sequence in the lm::DecodeSession
    std::int64_t own_first = 0;        // index in the sequence at which the prompt of the latest
                                       // agent begins
    std::vector<lm::Range> latents{};  // ranges of the tokens of latent steps
  };

  /// The tree of a question while it grows.
  struct Growing {
    std::size_t question = 0;
    std::vector<AgentNode> nodes{};
    std::vector<Path> paths{};
    std::vector<PathScore> scores{};  // scores of `paths`, set by think() and merge()
  };

  lm::PagedCache::Sizes sizes_for(std::span<const std::size_t> places) const;
  void work_on(std::span<const std::size_t> places, std::vector<CollectedQuestion>& collected);
  void choose_parents(Growing& tree, std::size_t agent);
  Path carried(const Path& path);
  void prompt(std::vector<Growing>& trees, std::size_t agent);
  void branch(Growing& tree, std::size_t agent);
  std::int64_t children_of(const Growing& tree, std::size_t agent) const;
  std::vector<std::int64_t> shares_of(const Growing& tree, std::size_t agent) const;
  void think(std::vector<Growing>& trees, std::size_t agent);
  void keep_states(Growing& tree, const float* states);
  void keep_entropies(std::vector<Growing>& trees, const at::Tensor& states);
  void merge(Growing& tree);
  void answer(std::vector<Growing>& trees, std::vector<CollectedQuestion>& collected);
  void finish(Growing& tree, std::vector<lm::Completion> completions, CollectedQuestion& collected);
  bool is_last(std::size_t agent) const { return agent + 1 == inputs_.agents.size(); }
  std::int64_t index_of(const Growing& tree) const;
  std::uint64_t stream_of(const Growing& tree, std::size_t agent, const Path& path) const;

  const QuestionEncoder& encoder_;
  const CollectInputs& inputs_;
  AnswerJudge judge_;
  lm::LatentSession latents_;
  std::int64_t batch_size_;
  std::int64_t width_;
  lm::DecodeSession* session_ = nullptr;   // used by the current work_on()
  std::span<const Question> questions_{};  // argument of the current run()
  std::int64_t first_ = 0;
  std::int64_t finished_ = 0;
};

}  // namespace mgpu::jobs
