#pragma once

#include <cstdint>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/lm/parallel/shard.hpp>

// Computes the memory that models other than model.path need on a rank: the guide, and the
// reference model of the KL divergence.
namespace mgpu::jobs {

/// Describes the part of a model that one rank holds, in a group of `ranks` ranks.
struct ModelPart {
  lm::LmConfig config;
  lm::Shard shard;
  int ranks = 1;
};

/// Returns the part with the most weights, if a group of `ranks` ranks divides the model by `plan`.
ModelPart largest_part(const lm::LmConfig& config, const lm::GroupPlan& plan, int ranks);

/// Returns how many bytes the weights of a guide take on a rank. Each rank holds the whole guide.
std::int64_t guide_weights(const lm::LmConfig& guide, const lm::MemoryDemand& demand);

/// Returns how many bytes a guide needs in addition to its weights: its KV cache, and one forward
/// pass over all candidates. The candidates are the next tokens that the guide scores for a
/// sequence; the KV cache includes them. `demand` is the demand of the guided model.
std::int64_t guide_batch_bytes(const lm::LmConfig& guide, std::int64_t candidates,
                               lm::MemoryDemand demand);

/// Returns how many bytes the computation of KL(model || reference) needs in addition to weights.
/// Both models process the completions once more, which takes caches and activations. The hidden
/// states of the model are kept until the reference has processed the same tokens. `demand` is the
/// demand of generation, with completions of at most `new_tokens` tokens.
std::int64_t divergence_batch_bytes(const ModelPart& model, const ModelPart& reference,
                                    std::int64_t new_tokens, lm::MemoryDemand demand);

}  // namespace mgpu::jobs
