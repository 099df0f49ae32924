#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.hpp"
#include "judge.hpp"
#include "question_collector.hpp"

namespace mgpu::jobs {

/// An answer of the judger (the last agent), and the index of its node in the tree.
struct AgentAnswer {
  std::int32_t node = 0;
  lm::Completion completion{};
};

/// A question that agents have answered, with the objects that are used to judge the answers.
struct AnsweredQuestion {
  const CollectInputs& inputs;
  const QuestionEncoder& encoder;
  const AnswerJudge& judge;
  std::int64_t index;           // in the data set
  const std::string& expected;  // the answer in its row
};

/// Judges the answers, lets them vote with the scores of their paths as weights, and makes the
/// tree. Returns the judged answers, the vote and the tree.
CollectedQuestion collect_answers(const AnsweredQuestion& question, std::vector<AgentNode> nodes,
                                  std::vector<AgentAnswer> answers);

}  // namespace mgpu::jobs
