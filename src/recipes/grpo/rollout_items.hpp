#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/train/objective.hpp>

#include "group_draws.hpp"
#include "rollout_bytes.hpp"
#include "rollout_state.hpp"
#include "settings.hpp"

namespace mgpu::recipes {

/// Keys of LmExamples::texts, if the examples are prompts.
inline constexpr const char* kPromptText = "prompt";
inline constexpr const char* kAnswerText = "answer";      // "" without a right answer
inline constexpr const char* kMessagesText = "messages";  // JSON object; "" without messages

/// The objects that RolloutItems uses. The referenced objects must outlive it.
struct RolloutTools {
  const lm::LmExamples& prompts;      // each example is a prompt, with texts
  rewards::WeightedRewards& rewards;  // reward functions that judge completions
  std::function<std::string(std::span<const std::int64_t>)> decode;  // text of a completion
  PhaseClock& clock;
  int rank = 0;  // of this process among the ranks of the training
};

/// Completions that the trained model samples itself, with their rewards. Each item is one
/// completion, and GrpoSettings::group_size consecutive items form a group with the same prompt.
/// Each epoch has another random order of the prompts.
///
/// Completions are sampled right before the first step that uses them, with the current weights.
/// GrpoSettings::iterations consecutive steps use the same completions. The random numbers of a
/// completion depend only on the seed, on the number of its prompt (see GroupDraws) and on its
/// index in the group. Therefore the random numbers do not depend on the number of ranks.
///
/// GrpoSettings::refills is the maximum number of rounds that replace groups whose rewards are all
/// equal. In each of these rounds, each rank samples a share of the new completions. Then all ranks
/// exchange the new completions, and each rank keeps those that belong to its own items.
class RolloutItems final : public lm::LmItems, private train::ItemRounds {
public:
  RolloutItems(const GrpoSettings& settings, const RolloutTools& tools);

  /// Sets the model with the start weights. Call this function if GrpoSettings::beta is above 0.
  void set_start(const lm::TrainableModel& start) { start_ = &start; }

  std::uint64_t epoch_size() const override;
  bool are_made() const override { return true; }

  /// Samples and judges this rank's completions, unless an earlier step has made them.
  /// Errors: those of Generator::run() and of Reward::score().
  void make(const lm::TrainableModel& model, std::uint64_t first, std::int64_t count) override;

  /// Returns this object while the groups of a new sampling may still be replaced. Returns nullptr
  /// otherwise, for example in steps that reuse the completions of an earlier step.
  train::ItemRounds* rounds() override { return sampled_model_ == nullptr ? nullptr : this; }

  std::int64_t predictions(std::uint64_t ordinal) const override;
  void append(std::uint64_t ordinal, lm::LmBatch& batch) const override;
  std::int64_t group_size() const override { return settings_.group_size; }

  /// Copies the completions of all ranks to `state`.
  /// Ranks:  collective over `group`.
  void save(const cluster::Group& group, RolloutState& state) const;

  /// Continues with the completions in `state`, which was loaded from a checkpoint and may have no
  /// completions.
  void restore(const RolloutState& state);

private:
  std::size_t place_of(std::uint64_t ordinal) const;
  std::size_t group_of(std::size_t place) const {
    return place / static_cast<std::size_t>(settings_.group_size);
  }
  std::size_t example_of(std::size_t place) const;
  std::span<const std::int64_t> prompt_of(std::size_t example) const;
  void begin_rollout(const lm::TrainableModel& model, std::int64_t rollout);
  void finish();
  std::vector<lm::Prompt> prompts_to_sample() const;
  void sample();
  void judge();
  void measure(const lm::TrainableModel& model);
  void measure(const lm::TrainableModel& model, std::size_t first, std::size_t count);
  double penalty_of(const Rollout& row) const;

  // The next three functions implement train::ItemRounds.
  std::string result() const override;
  bool read(const std::vector<std::string>& results) override;
  void make() override;
  void take(const SentRollout& sent);

  GrpoSettings settings_;
  RolloutTools tools_;
  const lm::TrainableModel* start_ = nullptr;
  // [global batch]. Sampling fills this rank's rows, and restore() fills all rows.
  std::vector<Rollout> rows_;
  std::int64_t rollout_ = -1;  // number of the sampling that made rows_; -1: none
  std::size_t first_ = 0;      // this rank's rows are [first_, first_ + count_)
  std::size_t count_ = 0;

  // The state of a sampling in progress.
  const lm::TrainableModel* sampled_model_ = nullptr;  // nullptr: all completions are ready
  std::int64_t next_rollout_ = -1;                     // number of this sampling
  bool is_first_round_ = true;                         // true: no group has been replaced yet
  std::vector<std::size_t> made_;  // batch indices of completions that this rank samples in a round
  std::vector<double> rewards_;    // [global batch] rewards from all ranks
  std::vector<double> first_rewards_;  // [global batch] rewards before any group was replaced

  GroupDraws draws_;
};

}  // namespace mgpu::recipes
