#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent_tree.hpp"
#include "question.hpp"
#include "solution.hpp"
#include "step_tree.hpp"

namespace mgpu::jobs {

/// The solutions and the tree of a question. If the question cannot be used, there are no
/// solutions, and the tree has no nodes.
struct CollectedQuestion {
  std::vector<Solution> paths{};
  StepTree tree{};
  std::int64_t rollouts = 0;
  std::int64_t rollout_tokens = 0;  // tokens of all rollouts; with agents, of the texts of all
                                    // agents before the judger
  std::vector<AgentNode> agents{};  // one per node of the tree; empty: the run has no agents
  std::string vote{};               // with agents, the answer that vote() chooses; "": none
  bool vote_is_right = false;
};

/// Samples solutions of questions, and makes the trees of their steps.
///
/// Ranks:  if the model is split over a group, run() is collective over the group, and all ranks of
///         the group get the results.
class QuestionCollector {
public:
  QuestionCollector() = default;
  QuestionCollector(const QuestionCollector&) = delete;
  QuestionCollector& operator=(const QuestionCollector&) = delete;
  QuestionCollector(QuestionCollector&&) = delete;
  QuestionCollector& operator=(QuestionCollector&&) = delete;
  virtual ~QuestionCollector() = default;

  /// Samples the solutions of questions and makes their trees. The first of `questions` is row
  /// `first` of the run. A random number depends only on the seed, the question's index in the data
  /// set, and the position in the question's tree. On the CPU, the result of a question does not
  /// depend on other questions or on the batch size.
  /// Errors: those of lm::Generator::run() or lm::PathSession::run().
  virtual std::vector<CollectedQuestion> run(std::span<const Question> questions,
                                             std::int64_t first) = 0;

  virtual std::int64_t batch_size() const = 0;
  virtual void set_batch_size(std::int64_t batch_size) = 0;

  /// Sets a callback for the progress of run(). With agents, the callback receives how many
  /// solutions are finished. Without agents, it receives the number of solutions times the share of
  /// finished rollouts. With collect.label=omega_prm, run() does not call the callback.
  void set_progress(const std::function<void(std::int64_t)>& see) { see_progress_ = see; }

protected:
  void report(std::int64_t solutions) const {
    if (see_progress_) see_progress_(solutions);
  }

private:
  std::function<void(std::int64_t)> see_progress_;
};

}  // namespace mgpu::jobs
