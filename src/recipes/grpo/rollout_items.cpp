#include "rollout_items.hpp"

#include <algorithm>
#include <numeric>

#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "loss.hpp"

namespace mgpu::recipes {
namespace {

constexpr std::size_t kMeasuredAtOnce = 16;  // completions in a forward pass of measure()

void add_targets(const Rollout& row, lm::LmBatch& batch) {
  batch.spans.push_back({std::span<const std::int64_t>(row.ids)});
  for (std::int64_t t = 1; t < std::ssize(row.ids); ++t)
    batch.targets.push_back(t < row.prompt ? kernels::kIgnoreTarget
                                           : row.ids[static_cast<std::size_t>(t)]);
  batch.targets.push_back(kernels::kIgnoreTarget);
}

/// Appends one value for each token of the row to `column`. The value of each completion token is
/// at the preceding position, where the model predicts that token. All other positions get 0.
void add_column(const Rollout& row, const std::vector<double>& values,
                std::vector<double>& column) {
  column.resize(column.size() + static_cast<std::size_t>(row.prompt) - 1, 0.0);
  column.insert(column.end(), values.begin(), values.end());
  column.push_back(0.0);
}

/// Returns the part of `values` that belongs to the completion. `values` has one value for each
/// token of the row, at the positions that add_column() uses.
std::vector<double> of_completion(const Rollout& row, std::span<const double> values) {
  const auto begin = static_cast<std::size_t>(row.prompt) - 1;
  const auto part = values.subspan(begin, row.ids.size() - begin - 1);
  return {part.begin(), part.end()};
}

}  // namespace

RolloutItems::RolloutItems(const GrpoSettings& settings, const RolloutTools& tools)
    : settings_(settings),
      tools_(tools),
      rows_(static_cast<std::size_t>(settings.global_batch)),
      rewards_(rows_.size()),
      draws_(rows_.size() / static_cast<std::size_t>(settings.group_size), settings.refills) {}

std::uint64_t RolloutItems::epoch_size() const {
  return tools_.prompts.size() *
         static_cast<std::uint64_t>(settings_.group_size * settings_.iterations);
}

std::size_t RolloutItems::place_of(std::uint64_t ordinal) const {
  return static_cast<std::size_t>(ordinal % rows_.size());
}

/// Returns the index, among all prompts, of the prompt for row `place` of the global batch.
std::size_t RolloutItems::example_of(std::size_t place) const {
  const std::uint64_t number = draws_.numbers()[group_of(place)];
  const std::uint64_t prompts = tools_.prompts.size();
  const KeyedPermutation order(prompts, settings_.sampling.sampling.seed,
                               static_cast<std::uint32_t>(number / prompts));
  return static_cast<std::size_t>(order(number % prompts));
}

std::span<const std::int64_t> RolloutItems::prompt_of(std::size_t example) const {
  return std::span(tools_.prompts.ids)
      .subspan(static_cast<std::size_t>(tools_.prompts.begin(example)),
               static_cast<std::size_t>(tools_.prompts.length(example)));
}

void RolloutItems::make(const lm::TrainableModel& model, std::uint64_t first, std::int64_t count) {
  const auto step = static_cast<std::int64_t>(first / rows_.size());
  const std::int64_t rollout = step / settings_.iterations;
  first_ = place_of(first);
  count_ = static_cast<std::size_t>(count);
  if (rollout == rollout_) return;
  begin_rollout(model, rollout);
  sample();
  judge();
  if (settings_.refills == 0) finish();
}

/// Begins sampling number `rollout`: chooses a prompt for each group, and the completions that this
/// rank samples. If GrpoSettings::refills is 0, all samplings use the same number of prompts, so
/// `rollout` determines the first prompt. Otherwise the first prompt is the next unused one.
void RolloutItems::begin_rollout(const lm::TrainableModel& model, std::int64_t rollout) {
  sampled_model_ = &model;
  rollout_ = -1;  // no valid completions, in case sampling fails
  next_rollout_ = rollout;
  is_first_round_ = true;
  const std::uint64_t groups = draws_.numbers().size();
  draws_.begin(settings_.refills > 0 ? draws_.next()
                                     : static_cast<std::uint64_t>(rollout) * groups);
  made_.resize(count_);
  std::iota(made_.begin(), made_.end(), first_);
}

/// Ends a sampling: stores the facts about refills, calls measure() for the completions of this
/// rank, and allows steps to use the completions.
void RolloutItems::finish() {
  for (std::size_t place = first_; settings_.refills > 0 && place < first_ + count_; ++place) {
    rows_[place].first_reward = first_rewards_[place];
    rows_[place].refills = draws_.refills(group_of(place));
  }
  measure(*sampled_model_);
  sampled_model_ = nullptr;
  rollout_ = next_rollout_;
}

/// Computes the log-probabilities that the loss needs for this rank's completions:
///
/// - If the start model is set, computes Rollout::start.
/// - If several steps use the completions, computes Rollout::old under the current weights, and
///   Rollout::difference.
void RolloutItems::measure(const lm::TrainableModel& model) {
  if (settings_.iterations == 1 && start_ == nullptr) return;
  const auto measuring = tools_.clock.enter("forward");
  for (std::size_t begin = 0; begin < count_; begin += kMeasuredAtOnce)
    measure(model, first_ + begin, std::min(kMeasuredAtOnce, count_ - begin));
}

/// Does the same as measure(model), for the completions with the batch indices
/// [first, first + count).
void RolloutItems::measure(const lm::TrainableModel& model, std::size_t first, std::size_t count) {
  const std::span<Rollout> rows = std::span(rows_).subspan(first, count);
  lm::LmBatch batch;
  for (std::size_t i = 0; i < count; ++i) {
    add_targets(rows[i], batch);
    batch.groups.push_back(group_of(first + i));
  }
  const lm::ValueRequest request{.temperature = settings_.sampling.sampling.temperature,
                                 .plain_log_probs = settings_.iterations > 1};
  if (settings_.iterations > 1) {
    const lm::TokenValues values = model.measure(batch, request);
    const auto sequences = lm::sequences_of(batch, values, request);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].old = of_completion(rows[i], sequences[i].log_probs);
      std::vector<double> sampled;
      add_column(rows[i], rows[i].sampled, sampled);
      rows[i].difference =
          largest_difference(sequences[i].plain_log_probs, sampled, sequences[i].targets);
    }
  }
  if (start_ == nullptr) return;
  const lm::ValueRequest of_start{.temperature = request.temperature};
  const lm::TokenValues values = start_->measure(batch, of_start);
  const auto sequences = lm::sequences_of(batch, values, of_start);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].start = of_completion(rows[i], sequences[i].log_probs);
}

std::int64_t RolloutItems::predictions(std::uint64_t ordinal) const {
  const Rollout& row = rows_[place_of(ordinal)];
  return std::ssize(row.ids) - row.prompt;
}

void RolloutItems::append(std::uint64_t ordinal, lm::LmBatch& batch) const {
  const Rollout& row = rows_[place_of(ordinal)];
  add_targets(row, batch);
  batch.groups.push_back(ordinal / static_cast<std::uint64_t>(settings_.group_size));
  if (settings_.iterations == 1) {
    add_column(row, row.sampled, batch.token_columns[kSampledColumn]);
  } else {
    add_column(row, row.old, batch.token_columns[kOldColumn]);
    batch.sequence_columns[kDifferenceColumn].push_back(row.difference);
  }
  if (start_ != nullptr) add_column(row, row.start, batch.token_columns[kStartColumn]);
  batch.sequence_columns[kRewardColumn].push_back(row.reward);
  batch.sequence_columns[kTruncatedColumn].push_back(row.is_truncated ? 1.0 : 0.0);
  if (settings_.refills == 0) return;
  batch.sequence_columns[kFirstRewardColumn].push_back(row.first_reward);
  batch.sequence_columns[kRefillsColumn].push_back(static_cast<double>(row.refills));
}

void RolloutItems::save(const cluster::Group& group, RolloutState& state) const {
  state.clear(rollout_);
  for (std::size_t place = first_; place < first_ + count_; ++place)
    state.put(place, rows_[place]);
  state.put_draws(draws_);
  state.add_ranks(group);
}

void RolloutItems::restore(const RolloutState& state) {
  rollout_ = state.rollout();
  if (settings_.refills > 0)
    draws_.restore(state.prompts(), state.next_prompt());
  else if (rollout_ >= 0)
    draws_.begin(static_cast<std::uint64_t>(rollout_) * draws_.numbers().size());
  if (rollout_ < 0) return;
  for (std::size_t place = 0; place < rows_.size(); ++place)
    rows_[place] = state.get(place, prompt_of(example_of(place)));
}

}  // namespace mgpu::recipes
