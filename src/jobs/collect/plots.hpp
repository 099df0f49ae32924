#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/estimate.hpp>
#include <mgpu/datasets/dataset.hpp>

#include "step_tree.hpp"
#include "tree_reader.hpp"

namespace mgpu::jobs {

/// The data that report.html of job collect shows.
struct CollectPlots {
  /// A question whose tree is drawn.
  struct Shown {
    std::string name{};  // why it is shown: "easiest and most divided"
    std::int64_t question = 0;
    ReadTree tree{};
  };

  /// Steps whose shares of right rollouts are in one interval.
  struct RolloutBin {
    std::int64_t steps = 0;
    std::int64_t right = 0;  // steps whose own path is right
    double shares = 0.0;     // sum of the shares of right rollouts
  };

  /// Measures of the first k sampled solutions, with one value for each question.
  struct Choices {
    std::vector<double> vote{};    // 1 if the majority vote is right, else 0
    std::vector<double> oracle{};  // 1 if one of the solutions is right, else 0
  };

  std::int64_t questions = 0;  // questions that have solutions
  std::int64_t paths = 0;
  std::int64_t right = 0;
  std::int64_t steps = 0;
  std::vector<std::int64_t> percents{};   // value of each step, in percent; empty if no texts are
                                          // stored
  std::vector<double> sums_at{};          // [s]: sum of the values of step s + 1 of all solutions
  std::vector<std::int64_t> counts_at{};  // [s]: number of solutions with a step s + 1
  std::array<RolloutBin, 10> bins{};      // [b]: shares from b / 10 to (b + 1) / 10
  std::map<std::int64_t, Choices> choices{};  // [k]: questions with at least k sampled solutions
  std::vector<double> shares{};               // share of right solutions of each question
  std::vector<std::int64_t> questions_of_copies{};  // questions of each copy of the model, in the
                                                    // attempt that finished the run
  std::vector<Shown> shown{};
  std::string settings{};  // result of collecting_text()

  /// Adds a question whose first `sampled` paths were sampled. The other paths are rollouts.
  /// Answers are compared as by datasets::first_equal().
  void add(const ReadTree& tree, std::int64_t sampled, const datasets::Dataset* dataset = nullptr);

  /// Adds the steps that have rollouts to `bins`: all steps of a path but the last. With
  /// monte_carlo, the answer of the path is not counted as a rollout. `label` must not be
  /// omega_prm, because its paths may be rollouts of the steps that they contain.
  void add_rollouts(const ReadTree& tree, StepLabel label);
};

}  // namespace mgpu::jobs
