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
#include "solution.hpp"
#include "step_tree.hpp"

namespace mgpu::jobs {

/// The solutions of a question and its tree. A question that cannot be used has no solutions, and
/// a tree without nodes.
struct CollectedQuestion {
  std::vector<Solution> paths{};
  StepTree tree{};
  std::int64_t rollouts = 0;
  std::int64_t rollout_tokens = 0;  // drawn by all rollouts
};

/// Samples solutions of questions with a model, splits them into steps, and samples rollouts of
/// steps. A call samples all solutions in one batch, and then all rollouts in another. With label
/// omega_prm, the searches of all questions run side by side, and a batch has the rollouts of one
/// state of each question. A rollout continues the path after the end of a step. The path up to
/// there runs through the model once, and the rollouts of the step share its cache pages.
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

  /// Sets a callback for the progress of run(). While rollouts of all steps are sampled, it
  /// receives the number of all paths times the finished share of the rollouts. It is not called
  /// while paths are sampled, or with label omega_prm.
  void set_progress(const std::function<void(std::int64_t)>& see) { see_progress_ = see; }

  /// Returns the random stream of a path, which is lm::Prompt::sample.
  static std::uint64_t sample_of_path(std::int64_t question, std::int64_t path);

  /// Returns the random stream of the first rollout of a step, counted from 0; rollout r has the
  /// result plus r. Streams of the first 2^29 questions of a data set differ.
  static std::uint64_t sample_of_rollouts(std::int64_t question, std::int64_t path,
                                          std::int64_t step);

  /// Returns the random stream of the first rollout of a state of OmegaSearch. `number`:
  /// OmegaSearch::Probe::number of the state.
  static std::uint64_t sample_of_state(std::int64_t question, std::int64_t number);

private:
  /// The first tokens of a solution, from which rollouts are sampled.
  struct Beginning {
    std::size_t question = 0;  // index among the questions of run()
    const Solution* solution = nullptr;
    std::int64_t tokens = 0;   // number of first tokens of the solution
    std::uint64_t sample = 0;  // random stream of the first rollout
  };

  void draw_paths(std::vector<CollectedQuestion>& collected);
  void label_all_steps(std::vector<CollectedQuestion>& collected);
  void search(std::vector<CollectedQuestion>& collected);
  std::vector<std::vector<Solution>> complete(std::span<const Beginning> beginnings,
                                              std::vector<CollectedQuestion>& collected);
  Solution joined(const Beginning& beginning, lm::Completion rollout) const;
  Solution judged(std::size_t question, lm::Completion completion) const;
  std::int64_t index_of(std::size_t question) const;

  const CollectInputs& inputs_;
  const rows::PromptEncoder& encoder_;
  AnswerJudge judge_;
  lm::Generator generator_;
  std::function<void(std::int64_t)> see_progress_;
  std::span<const rows::EncodedPrompt> questions_{};  // of the current run()
  std::int64_t first_ = 0;                            // row of the run of the first question
};

}  // namespace mgpu::jobs
