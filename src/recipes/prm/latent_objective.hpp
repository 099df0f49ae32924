#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/train/objective.hpp>

#include "latent_head.hpp"
#include "latent_nodes.hpp"

namespace mgpu::recipes {

/// Returns the states of some nodes, [count, D] float32 in host memory.
at::Tensor states_of_nodes(const LatentNodes& nodes, std::span<const std::int64_t> indices);

/// The training objective of a reward head for latent states: the losses of PrmLossKind. An item is
/// a node, or with PrmLossKind::pairwise a pair of node_pairs(). Each epoch has all items in a
/// random order.
class LatentObjective final : public train::Objective {
public:
  /// Keeps references to `head`, `nodes` and `clock`, which must outlive this object.
  /// Errors: Failure E531 (exit 65) if pairwise training has no pair.
  LatentObjective(LatentHead& head, const LatentNodes& nodes, const PrmSettings& settings,
                  PhaseClock& clock);

  tensor::ParameterArena& parameters() override { return head_.parameters(); }
  std::int64_t predictions(std::uint64_t /*first*/, std::int64_t count) const override {
    return count;
  }
  std::uint64_t epoch_size() const override;
  train::PassSums add_gradients(std::uint64_t first, std::int64_t count,
                                double grad_scale) override;

private:
  std::vector<std::int64_t> items_at(std::uint64_t first, std::int64_t count) const;
  train::PassSums add_nodes(std::span<const std::int64_t> items, double grad_scale);
  train::PassSums add_pairs(std::span<const std::int64_t> items, double grad_scale);
  at::Tensor forward(std::span<const std::int64_t> nodes) const;
  void backward(const at::Tensor& logits, const std::vector<float>& slopes) const;

  LatentHead& head_;
  const LatentNodes& nodes_;
  PrmSettings settings_;
  PhaseClock& clock_;
  std::vector<NodePair> pairs_{};
};

}  // namespace mgpu::recipes
