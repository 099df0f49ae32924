#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.hpp"
#include "judge.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// An answer of the judger (the last agent), and the index of the answer's node in the tree.
struct AgentAnswer {
  std::int32_t node = 0;
  lm::Completion completion{};
};

/// A question that agents have answered, with the objects that collect_answers() uses.
struct AnsweredQuestion {
  const CollectInputs& inputs;
  const QuestionEncoder& encoder;
  const AnswerJudge& judge;
  std::int64_t index;           // index of the question in the data set
  const std::string& expected;  // right answer, from the question's row
};

/// Checks whether the answers of the judger are right, chooses one answer by vote(), and makes the
/// tree of the question from `nodes`. The weight of an answer in the vote is the score of its node.
/// Returns the judged answers, the chosen answer and the tree.
CollectedQuestion collect_answers(const AnsweredQuestion& question, std::vector<AgentNode> nodes,
                                  std::vector<AgentAnswer> answers);

}  // namespace mgpu::jobs
