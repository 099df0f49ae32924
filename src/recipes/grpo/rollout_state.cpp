#include "rollout_state.hpp"

#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace mgpu::recipes {
namespace {

constexpr std::int64_t kRolloutFacts = 3;
constexpr std::int64_t kRefillFacts = 2;

template <class T>
std::span<T> all_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<T>(), static_cast<std::size_t>(tensor.numel())};
}

/// Returns row `place` of a tensor with two dimensions.
template <class T>
std::span<T> row_of(const at::Tensor& tensor, std::size_t place) {
  const auto width = static_cast<std::size_t>(tensor.size(1));
  return all_of<T>(tensor).subspan(place * width, width);
}

std::vector<double> first_of(const at::Tensor& tensor, std::size_t place, std::size_t count) {
  const auto values = row_of<double>(tensor, place).first(count);
  return {values.begin(), values.end()};
}

}  // namespace

RolloutState::RolloutState(const GrpoSettings& settings) {
  const bool has_refills = settings.refills > 0;
  if (has_refills) next_ = at::zeros({1}, at::kLong);
  if (settings.iterations == 1) return;
  const std::int64_t rows = settings.global_batch;
  const std::int64_t tokens = settings.sampling.max_new_tokens;
  number_ = at::full({1}, -1, at::kLong);
  lengths_ = at::zeros({rows}, at::kLong);
  ids_ = at::zeros({rows, tokens}, at::kLong);
  old_ = at::zeros({rows, tokens}, at::kDouble);
  if (settings.beta > 0.0) start_ = at::zeros({rows, tokens}, at::kDouble);
  facts_ = at::zeros({rows, kRolloutFacts + (has_refills ? kRefillFacts : 0)}, at::kDouble);
  if (has_refills) prompts_ = at::zeros({rows / settings.group_size}, at::kLong);
}

std::vector<KeptTensor> RolloutState::tensors() const {
  std::vector<KeptTensor> kept;
  for (const KeptTensor& tensor : {KeptTensor{"rollout.number", number_},
                                   {"rollout.lengths", lengths_},
                                   {"rollout.ids", ids_},
                                   {"rollout.old_log_probs", old_},
                                   {"rollout.facts", facts_},
                                   {"rollout.start_log_probs", start_},
                                   {"rollout.next_prompt", next_},
                                   {"rollout.prompts", prompts_}})
    if (tensor.values.defined()) kept.push_back(tensor);
  return kept;
}

std::int64_t RolloutState::rollout() const {
  return number_.defined() ? all_of<std::int64_t>(number_)[0] : -1;
}

void RolloutState::clear(std::int64_t rollout) {
  if (!number_.defined()) return;
  for (const at::Tensor& tensor : {lengths_, ids_, old_, facts_})
    at::Tensor(tensor).zero_();
  if (start_.defined()) start_.zero_();
  all_of<std::int64_t>(number_)[0] = rollout;
}

void RolloutState::put(std::size_t place, const Rollout& row) {
  if (!number_.defined()) return;
  all_of<std::int64_t>(lengths_)[place] = std::ssize(row.old);
  std::copy(row.ids.begin() + row.prompt, row.ids.end(), row_of<std::int64_t>(ids_, place).begin());
  std::ranges::copy(row.old, row_of<double>(old_, place).begin());
  if (start_.defined()) std::ranges::copy(row.start, row_of<double>(start_, place).begin());
  const auto facts = row_of<double>(facts_, place);
  facts[0] = row.reward;
  facts[1] = row.is_truncated ? 1.0 : 0.0;
  facts[2] = row.difference;
  if (!prompts_.defined()) return;
  facts[3] = row.first_reward;
  facts[4] = static_cast<double>(row.refills);
}

void RolloutState::put_draws(const GroupDraws& draws) {
  if (next_.defined()) all_of<std::int64_t>(next_)[0] = static_cast<std::int64_t>(draws.next());
  if (prompts_.defined())
    std::ranges::copy(draws.numbers(), all_of<std::int64_t>(prompts_).begin());
}

std::uint64_t RolloutState::next_prompt() const {
  return next_.defined() ? static_cast<std::uint64_t>(all_of<std::int64_t>(next_)[0]) : 0;
}

std::vector<std::uint64_t> RolloutState::prompts() const {
  if (!prompts_.defined()) return {};
  const auto numbers = all_of<std::int64_t>(prompts_);
  return {numbers.begin(), numbers.end()};
}

void RolloutState::add_ranks(const cluster::Group& group) {
  if (!number_.defined()) return;
  group.all_reduce(all_of<std::int64_t>(lengths_));
  group.all_reduce(all_of<std::int64_t>(ids_));
  group.all_reduce(all_of<double>(old_));
  group.all_reduce(all_of<double>(facts_));
  if (start_.defined()) group.all_reduce(all_of<double>(start_));
}

Rollout RolloutState::get(std::size_t place, std::span<const std::int64_t> prompt) const {
  Rollout row;
  row.prompt = std::ssize(prompt);
  row.ids.assign(prompt.begin(), prompt.end());
  const auto length = static_cast<std::size_t>(all_of<std::int64_t>(lengths_)[place]);
  const auto ids = row_of<std::int64_t>(ids_, place).first(length);
  row.ids.insert(row.ids.end(), ids.begin(), ids.end());
  row.old = first_of(old_, place, length);
  if (start_.defined()) row.start = first_of(start_, place, length);
  const auto facts = row_of<double>(facts_, place);
  row.reward = facts[0];
  row.is_truncated = facts[1] != 0.0;
  row.difference = facts[2];
  if (!prompts_.defined()) return row;
  row.first_reward = facts[3];
  row.refills = static_cast<std::int64_t>(facts[4]);
  return row;
}

}  // namespace mgpu::recipes
