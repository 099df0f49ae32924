#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

#include "inputs.hpp"
#include "judge.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// Samples solutions of questions with a model, splits them into steps, and samples rollouts of
/// steps. A rollout completes a solution from the end of one of its steps. The first call to
/// lm::Generator samples all solutions. Without label omega_prm, a second call samples all
/// rollouts. With label omega_prm, each further call samples the rollouts of one state per question
/// (see OmegaSearch). The model reads the tokens up to the end of a step once, and all rollouts of
/// this step share the cache pages of these tokens.
class Collector final : public QuestionCollector {
public:
  /// Keeps references to all arguments, which must outlive this object.
  Collector(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
            const CollectInputs& inputs);

  /// Reports progress only while rollouts are sampled. Reports no progress with label omega_prm.
  /// The reported number is the number of solutions times the share of rollouts that are finished.
  std::vector<CollectedQuestion> run(std::span<const Question> questions,
                                     std::int64_t first) override;
  std::int64_t batch_size() const override { return generator_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { generator_.set_batch_size(batch_size); }

  /// Returns the random stream of a path, for lm::Prompt::sample.
  static std::uint64_t sample_of_path(std::int64_t question, std::int64_t path);

  /// Returns the random stream of the first rollout of a step. Steps are counted from 0. The stream
  /// of rollout r is this number plus r. Streams of the first 2^29 questions of a data set differ.
  static std::uint64_t sample_of_rollouts(std::int64_t question, std::int64_t path,
                                          std::int64_t step);

  /// Returns the random stream of the first rollout of a state of OmegaSearch. `number` is the
  /// OmegaSearch::Probe::number of the state.
  static std::uint64_t sample_of_state(std::int64_t question, std::int64_t number);

private:
  /// The first tokens of a solution. Rollouts continue these tokens.
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
  std::span<const Question> questions_{};  // argument of the current run()
  std::int64_t first_ = 0;
};

}  // namespace mgpu::jobs
