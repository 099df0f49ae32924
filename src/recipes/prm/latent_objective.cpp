#include "latent_objective.hpp"

#include <algorithm>
#include <cstddef>

#include <ATen/ops/tensor.h>

#include <mgpu/base/keyed_permutation.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "recipes/lm/logistic.hpp"
#include "step_loss.hpp"

namespace mgpu::recipes {
at::Tensor states_of_nodes(const LatentNodes& nodes, std::span<const std::int64_t> indices) {
  at::Tensor states = at::empty({std::ssize(indices), nodes.width}, at::kFloat);
  float* to = states.mutable_data_ptr<float>();
  for (const std::int64_t node : indices)
    to = std::copy_n(nodes.states.begin() + node * nodes.width, nodes.width, to);
  return states;
}

LatentObjective::LatentObjective(LatentHead& head, const LatentNodes& nodes,
                                 const PrmSettings& settings, PhaseClock& clock)
    : head_(head), nodes_(nodes), settings_(settings), clock_(clock) {
  if (settings.kind == PrmLossKind::pairwise) pairs_ = required_pairs(nodes, "question");
}

std::uint64_t LatentObjective::epoch_size() const {
  return pairs_.empty() ? static_cast<std::uint64_t>(nodes_.size()) : pairs_.size();
}

std::vector<std::int64_t> LatentObjective::items_at(std::uint64_t first, std::int64_t count) const {
  std::vector<std::int64_t> items;
  for (std::uint64_t ordinal = first; std::cmp_less(items.size(), count); ++ordinal) {
    const auto epoch = static_cast<std::uint32_t>(ordinal / epoch_size());
    const KeyedPermutation order(epoch_size(), settings_.seed, epoch);
    items.push_back(static_cast<std::int64_t>(order(ordinal % epoch_size())));
  }
  return items;
}

at::Tensor LatentObjective::forward(std::span<const std::int64_t> nodes) const {
  const auto passing = clock_.enter("forward");
  const at::Tensor& weights = head_.parameters().weights();
  return head_.forward(states_of_nodes(nodes_, nodes).to(weights.device()));
}

void LatentObjective::backward(const at::Tensor& logits, const std::vector<float>& slopes) const {
  const auto passing = clock_.enter("backward");
  logits.backward(at::tensor(slopes, at::kFloat).to(logits.device()));
}

train::PassSums LatentObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                               double grad_scale) {
  const std::vector<std::int64_t> items = items_at(first, count);
  return pairs_.empty() ? add_nodes(items, grad_scale) : add_pairs(items, grad_scale);
}

train::PassSums LatentObjective::add_nodes(std::span<const std::int64_t> items, double grad_scale) {
  const at::Tensor logits = forward(items);
  const at::Tensor host = tensor::read_back(logits.detach());
  train::PassSums sums{.predictions = std::ssize(items)};
  std::vector<float> slopes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const StepLoss loss = step_loss(settings_, host.const_data_ptr<float>()[i],
                                    nodes_.labels[static_cast<std::size_t>(items[i])]);
    sums.loss += loss.loss;
    sums.correct += loss.is_correct ? 1 : 0;
    slopes.push_back(static_cast<float>(grad_scale * loss.slope));
  }
  backward(logits, slopes);
  return sums;
}

train::PassSums LatentObjective::add_pairs(std::span<const std::int64_t> items, double grad_scale) {
  std::vector<std::int64_t> nodes;  // the better nodes of all pairs, then the worse nodes
  for (const std::int64_t item : items)
    nodes.push_back(pairs_[static_cast<std::size_t>(item)].first);
  for (const std::int64_t item : items)
    nodes.push_back(pairs_[static_cast<std::size_t>(item)].second);
  const at::Tensor logits = forward(nodes);
  const at::Tensor host = tensor::read_back(logits.detach());
  const float* z = host.const_data_ptr<float>();
  train::PassSums sums{.predictions = std::ssize(items)};
  std::vector<float> slopes(nodes.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const double margin = static_cast<double>(z[i]) - static_cast<double>(z[items.size() + i]);
    sums.loss += softplus(-margin);
    sums.correct += margin > 0.0 ? 1 : 0;
    slopes[i] = static_cast<float>(-grad_scale * sigmoid(-margin));
    slopes[items.size() + i] = -slopes[i];
  }
  backward(logits, slopes);
  return sums;
}

}  // namespace mgpu::recipes
