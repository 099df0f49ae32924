#include "other_models.hpp"

#include <algorithm>

#include <mgpu/lm/parallel/shard_plan.hpp>

namespace mgpu::jobs {
namespace {

std::int64_t weights_of(const ModelPart& part, const lm::MemoryDemand& demand) {
  return lm::memory_of(part.config, part.shard, demand, part.ranks).weights;
}

/// Returns the complete model without the vocabulary head, because a guide has a value head
/// instead. The value head and the norm before it are small, and are not counted.
lm::Shard without_head(const lm::LmConfig& guide) {
  lm::Shard shard = lm::whole_model(guide);
  shard.has_head = false;
  return shard;
}

}  // namespace

ModelPart largest_part(const lm::LmConfig& config, const lm::GroupPlan& plan, int ranks) {
  ModelPart largest{config, {}, ranks};
  std::int64_t most = -1;
  for (const lm::Shard& shard : lm::shards_of(config, plan, ranks)) {
    const std::int64_t weights = lm::memory_of(config, shard, {}, ranks).weights;
    if (weights > most) largest.shard = shard;
    most = std::max(most, weights);
  }
  return largest;
}

std::int64_t guide_weights(const lm::LmConfig& guide, const lm::MemoryDemand& demand) {
  lm::MemoryDemand alone = demand;
  alone.others = {};
  return lm::memory_of(guide, without_head(guide), alone, 1).weights;
}

std::int64_t guide_batch_bytes(const lm::LmConfig& guide, std::int64_t candidates,
                               lm::MemoryDemand demand) {
  constexpr std::int64_t kPagesOfFork = 1;  // per candidate: a copy of the last page, or a new page
  demand.others = {};
  const std::int64_t draws = demand.batch_size;
  const std::int64_t per_sequence = (demand.longest / demand.page_tokens + 1) * demand.page_tokens;
  const std::int64_t forks = draws * candidates * kPagesOfFork * demand.page_tokens;
  lm::LmConfig config = guide;
  demand.batch_size = draws + (forks + per_sequence - 1) / per_sequence;
  const std::int64_t cache = lm::memory_of(config, lm::whole_model(config), demand, 1).cache;
  config.vocab = 1;  // a value head has few outputs
  demand.batch_size = draws * candidates;
  return cache + lm::memory_of(config, lm::whole_model(config), demand, 1).activations;
}

std::int64_t divergence_batch_bytes(const ModelPart& model, const ModelPart& reference,
                                    std::int64_t new_tokens, lm::MemoryDemand demand) {
  // Three copies of a block of logits exist at the same time: those of the model, of the reference,
  // and of the model with the guide's offsets. A GPU also has float64 copies of the logits, and
  // temporary tensors for the sums over the vocabulary.
  constexpr std::int64_t kCopies = 3;
  constexpr std::int64_t kCopiesOnGpu = 16;
  demand.others = {};
  demand.is_scoring = true;
  demand.has_samples = false;
  demand.logit_copies = demand.device == DeviceKind::cuda ? kCopiesOnGpu : kCopies;
  std::int64_t bytes = 0;
  for (const ModelPart* part : {&model, &reference})
    bytes += lm::memory_of(part->config, part->shard, demand, part->ranks).total() -
             weights_of(*part, demand);
  const auto width = static_cast<std::int64_t>(sizeof(float)) * model.config.hidden_size;
  return bytes + demand.batch_size * new_tokens * width;
}

}  // namespace mgpu::jobs
