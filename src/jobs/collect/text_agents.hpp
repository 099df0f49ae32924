#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "inputs.hpp"
#include "judge.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// Answers questions with agents that write texts (collect.agents.method=text_mas), or with the
/// judger alone (single). A path has one text of each agent. If the prompt of an agent has the
/// placeholder {context}, the texts of the agents before this one replace the placeholder.
class TextAgentCollector final : public QuestionCollector {
public:
  /// Keeps references to all arguments, which must outlive this object.
  TextAgentCollector(const lm::LanguageModel& model, const QuestionEncoder& encoder,
                     const CollectInputs& inputs);

  std::vector<CollectedQuestion> run(std::span<const Question> questions,
                                     std::int64_t first) override;
  std::int64_t batch_size() const override { return generator_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override { generator_.set_batch_size(batch_size); }

private:
  /// A path of a question: one text of each agent.
  struct Chain {
    std::size_t question = 0;
    std::int64_t path = 0;
    std::vector<std::int64_t> context{};        // tokens of the texts so far
    std::vector<lm::Completion> completions{};  // texts of the agents so far
  };

  std::vector<lm::Completion> completions_of(std::size_t agent, std::span<const Chain> chains);
  void add_context(std::size_t agent, Chain& chain) const;
  CollectedQuestion finished(std::span<Chain> chains) const;
  std::int64_t index_of(const Chain& chain) const {
    return inputs_.question_of(first_ + static_cast<std::int64_t>(chain.question));
  }

  const QuestionEncoder& encoder_;
  const CollectInputs& inputs_;
  AnswerJudge judge_;
  lm::Generator generator_;
  std::vector<std::vector<std::int64_t>> headings_{};  // tokens before the text of each agent
  std::span<const Question> questions_{};              // argument of the current run()
  std::int64_t first_ = 0;
};

}  // namespace mgpu::jobs
