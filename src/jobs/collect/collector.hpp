#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

#include "inputs.hpp"
#include "judge.hpp"
#include "step_tree.hpp"
#include "text_steps.hpp"

namespace mgpu::jobs {

/// A sampled solution of a question.
struct CollectedPath {
  lm::Completion completion{};
  std::vector<TextStep> steps{};
  JudgedAnswer answer{};
  std::vector<std::int32_t> right_rollouts{};  // of each step but the last
};

/// All solutions of a question. A question that cannot be used has no solutions.
struct CollectedQuestion {
  std::vector<CollectedPath> paths{};
  std::int64_t rollout_tokens = 0;  // drawn by all rollouts

  std::vector<PathAnswers> answers() const;
};

/// Samples solutions of questions with a model, splits them into steps, and samples rollouts of
/// each step. All solutions of a call grow in one batch, and then all rollouts. A rollout begins
/// with the path up to the end of a step, which runs through the model once; the rollouts of the
/// step share its cache pages.
///
/// Ranks: if the model is split over a group, run() is collective; all ranks get the results.
class Collector {
public:
  /// Keeps references to all arguments, which must outlive this object.
  Collector(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
            const CollectInputs& inputs);

  /// Collects questions; the first is row `first` of the run. A random number depends on the seed,
  /// the question's index in the data set, the path, step and rollout only. On the CPU the result
  /// of a question does not depend on other questions or on the batch size.
  /// Errors: those of lm::Generator::run().
  std::vector<CollectedQuestion> run(std::span<const rows::EncodedPrompt> questions,
                                     std::int64_t first);

  std::int64_t batch_size() const { return generator_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) { generator_.set_batch_size(batch_size); }

  /// Sets a callback that receives how many solutions of the current run() are finished. While
  /// rollouts are sampled, it is their finished share of all solutions.
  void set_progress(const std::function<void(std::int64_t)>& see) { see_progress_ = see; }

  /// Returns the random stream of a path, which is lm::Prompt::sample.
  static std::uint64_t sample_of_path(std::int64_t question, std::int64_t path);

  /// Returns the random stream of the first rollout of a step, counted from 0; rollout r has the
  /// result plus r. Streams of the first 2^29 questions of a data set differ.
  static std::uint64_t sample_of_rollouts(std::int64_t question, std::int64_t path,
                                          std::int64_t step);

private:
  /// A step whose rollouts are sampled. `ids` are the question and the path up to its end.
  struct Branch {
    std::size_t question = 0;  // index among the questions of run()
    std::size_t path = 0;
    std::size_t step = 0;
    std::vector<std::int64_t> ids{};
    std::int64_t begun = 0;  // tokens of the path in `ids`
  };

  void draw_paths(std::span<const rows::EncodedPrompt> questions, std::int64_t first,
                  std::vector<CollectedQuestion>& collected);
  void add_path(const rows::EncodedPrompt& question, std::int64_t index, lm::Completion completion,
                CollectedQuestion& collected) const;
  std::vector<Branch> branches_of(std::span<const rows::EncodedPrompt> questions,
                                  const std::vector<CollectedQuestion>& collected) const;
  void draw_rollouts(std::span<const rows::EncodedPrompt> questions, std::int64_t first,
                     std::vector<CollectedQuestion>& collected);
  std::int32_t count_right(const Branch& branch, const rows::EncodedPrompt& question,
                           std::int64_t index, const lm::PromptResult& result) const;

  const CollectInputs& inputs_;
  const rows::PromptEncoder& encoder_;
  AnswerJudge judge_;
  lm::Generator generator_;
  std::function<void(std::int64_t)> see_progress_;
};

}  // namespace mgpu::jobs
