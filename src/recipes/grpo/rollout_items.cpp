#include "rollout_items.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/text/chat_template.hpp>

#include "loss.hpp"

namespace mgpu::recipes {
namespace {

constexpr std::size_t kMeasuredAtOnce = 16;  // completions in a forward pass of measure()

/// If failpoint grpo.sampler is set, this object makes one weight 1e-3 larger during its lifetime.
/// Tests use it to check that training notices a sampler with different weights.
class ShiftedWeight {
public:
  explicit ShiftedWeight(const tensor::ParameterArena& parameters) {
    if (failpoint("grpo.sampler").error == 0) return;
    const at::NoGradGuard no_grad;
    std::size_t norm = 0;
    while (parameters.spec(norm).shape.size() != 1)
      ++norm;
    weight_ = parameters.parameter(norm).detach().narrow(0, 0, 1);
    before_ = weight_.clone();
    weight_.add_(1e-3);
  }
  ShiftedWeight(const ShiftedWeight&) = delete;
  ShiftedWeight& operator=(const ShiftedWeight&) = delete;
  ~ShiftedWeight() {
    const at::NoGradGuard no_grad;
    if (weight_.defined()) weight_.copy_(before_);
  }

private:
  at::Tensor weight_;
  at::Tensor before_;
};

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

/// Parses the messages of a prompt, which ExampleEncoder::add_prompt() stored as the JSON `text`.
std::vector<text::ChatMessage> messages_of(const std::string& text) {
  if (text.empty()) return {};
  return rows::messages_of(formats::parse_json_object(text).at("messages"), "messages");
}

Rollout rollout_of(std::span<const std::int64_t> prompt, const lm::Completion& completion) {
  Rollout row;
  row.prompt = std::ssize(prompt);
  row.ids.assign(prompt.begin(), prompt.end());
  row.ids.insert(row.ids.end(), completion.ids.begin(), completion.ids.end());
  row.sampled.assign(completion.log_probs.begin(), completion.log_probs.end());
  row.is_truncated = completion.reason == lm::FinishReason::length ||
                     completion.reason == lm::FinishReason::context;
  return row;
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

/// Returns the index of the prompt for row `place` of the global batch.
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

/// Chooses prompts for all groups, and completions for this rank to sample. Without refills, each
/// sampling has the same number of prompts, so its first prompt follows from its number.
void RolloutItems::begin_rollout(const lm::TrainableModel& model, std::int64_t rollout) {
  sampled_model_ = &model;
  rollout_ = -1;  // in case sampling fails
  next_rollout_ = rollout;
  is_first_round_ = true;
  const std::uint64_t groups = draws_.numbers().size();
  draws_.begin(settings_.refills > 0 ? draws_.next()
                                     : static_cast<std::uint64_t>(rollout) * groups);
  made_.resize(count_);
  std::iota(made_.begin(), made_.end(), first_);
}

/// Makes the completions ready for the steps that use them.
void RolloutItems::finish() {
  for (std::size_t place = first_; settings_.refills > 0 && place < first_ + count_; ++place) {
    rows_[place].first_reward = first_rewards_[place];
    rows_[place].refills = draws_.refills(group_of(place));
  }
  measure(*sampled_model_);
  sampled_model_ = nullptr;
  rollout_ = next_rollout_;
}

/// Returns the prompts of made_. Another rank may sample the rest of the first or last prompt's
/// group.
std::vector<lm::Prompt> RolloutItems::prompts_to_sample() const {
  const auto members = static_cast<std::size_t>(settings_.group_size);
  std::vector<lm::Prompt> prompts;
  std::size_t group = draws_.numbers().size();  // of the last prompt
  for (const std::size_t place : made_) {
    if (group_of(place) == group) {
      ++prompts.back().num_samples;
      continue;
    }
    group = group_of(place);
    prompts.push_back(
        {draws_.numbers()[group] * members + place % members, prompt_of(example_of(place))});
  }
  return prompts;
}

/// Samples the completions of made_.
void RolloutItems::sample() {
  const std::vector<lm::Prompt> prompts = prompts_to_sample();
  if (prompts.empty()) return;
  const ShiftedWeight shifted(sampled_model_->parameters());
  const lm::LanguageModel decoder = sampled_model_->decoder();
  lm::Generator generator(decoder, settings_.sampling);
  const std::vector<lm::PromptResult> results = generator.run(prompts);
  auto place = made_.begin();
  for (std::size_t p = 0; p < prompts.size(); ++p)
    for (const lm::Completion& completion : results[p].completions)
      rows_[*place++] = rollout_of(prompts[p].ids, completion);
}

/// Returns the penalty of a long completion, from -1 to 0.
/// Source: Yu et al., arXiv 2503.14476, equation 13
double RolloutItems::penalty_of(const Rollout& row) const {
  if (settings_.overlong_tokens == 0) return 0.0;
  const std::int64_t length = std::ssize(row.ids) - row.prompt;
  const std::int64_t beyond =
      length - (settings_.sampling.max_new_tokens - settings_.overlong_tokens);
  return -std::clamp(static_cast<double>(beyond) / static_cast<double>(settings_.overlong_tokens),
                     0.0, 1.0);
}

/// Gives the completions of made_ their rewards.
void RolloutItems::judge() {
  if (made_.empty()) return;
  const auto judging = tools_.clock.enter("rewards");
  std::vector<std::string> outputs;
  for (const std::size_t place : made_)
    outputs.push_back(tools_.decode(
        std::span(rows_[place].ids).subspan(static_cast<std::size_t>(rows_[place].prompt))));
  std::vector<std::vector<text::ChatMessage>> messages(made_.size());
  std::vector<rewards::RewardRow> judged;
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const std::size_t example = example_of(made_[i]);
    messages[i] = messages_of(tools_.prompts.texts.at(kMessagesText)[example]);
    judged.push_back({tools_.prompts.texts.at(kPromptText)[example], outputs[i],
                      tools_.prompts.texts.at(kAnswerText)[example], messages[i]});
  }
  const rewards::Scores scores = tools_.rewards.score(judged);
  for (std::size_t i = 0; i < made_.size(); ++i)
    rows_[made_[i]].reward = scores.total[i] + penalty_of(rows_[made_[i]]);
}

/// Computes the log-probabilities with which the loss compares: those under the start model, if it
/// is set, and those under the current weights, if several steps use the completions.
void RolloutItems::measure(const lm::TrainableModel& model) {
  if (settings_.iterations == 1 && start_ == nullptr) return;
  const auto measuring = tools_.clock.enter("forward");
  for (std::size_t begin = 0; begin < count_; begin += kMeasuredAtOnce)
    measure(model, own().subspan(begin, std::min(kMeasuredAtOnce, count_ - begin)));
}

void RolloutItems::measure(const lm::TrainableModel& model, std::span<Rollout> rows) const {
  lm::LmBatch batch;
  for (const Rollout& row : rows)
    add_targets(row, batch);
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
