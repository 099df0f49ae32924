#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::recipes {

/// The sizes of a reward head: D inputs and H hidden units.
struct LatentHeadSizes {
  std::int64_t inputs = 0;
  std::int64_t hidden = 0;
};

/// Returns the parameters of the head.
std::vector<tensor::ParameterSpec> latent_head_specs(const LatentHeadSizes& sizes);

/// A reward head for latent states. Job collect makes a tree of steps for each question, and a node
/// is a part of this tree. The input x of the head is the mean of the states of a node's latent
/// steps. The output is the logit of the probability that a path through the node ends with a right
/// answer. The logit is score gelu(dense x + b) + c with the parameters dense [H, D], b [H], score
/// [1, H] and c [1].
class LatentHead {
public:
  /// Draws the initial weights, see tensor::ParameterArena.
  LatentHead(const LatentHeadSizes& sizes, Device device, std::uint64_t seed);

  tensor::ParameterArena& parameters() { return parameters_; }
  const LatentHeadSizes& sizes() const { return sizes_; }

  /// Returns the logits of B nodes, [B] float32. `states` is [B, D] float32, on the head's device.
  at::Tensor forward(const at::Tensor& states) const;

  /// Returns the config.json of a checkpoint, with the sizes.
  std::string config() const;

private:
  LatentHeadSizes sizes_;
  tensor::ParameterArena parameters_;
};

}  // namespace mgpu::recipes
