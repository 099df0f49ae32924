#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

// The functions in this header estimate how much memory generation and scoring need on a rank. They
// need only the configuration of the model, not its weights. All sizes are in bytes. The estimates
// include neither the program itself nor the freed memory that glibc keeps (at most 64 MiB).
namespace mgpu::lm {

struct MemoryUse {
  std::int64_t weights = 0;
  std::int64_t cache = 0;        // the KV cache
  std::int64_t activations = 0;  // peak of one forward pass
  std::int64_t buffers = 0;      // for communication between ranks
  std::int64_t others = 0;       // for other models on the rank, without their weights

  std::int64_t total() const { return weights + cache + activations + buffers + others; }
};

struct MemoryDemand {
  std::int64_t batch_size = 16;
  std::int64_t longest = 512;       // maximum total tokens of a prompt and its completion
  std::int64_t prefill_tokens = 0;  // prompt tokens per pass; 0: PassSizes::prefill_tokens
  std::int64_t page_tokens = 16;    // tokens per page of the KV cache
  CacheType cache_type = CacheType::f32;
  std::int64_t logit_copies = 2;  // copies of a block of logits, see logit_copies()
  bool has_samples = false;       // true: prompts have several completions
  bool is_scoring = false;        // true: prompts are scored, not completed
  std::int64_t tree_paths = 0;    // paths per tree: sequences of job collect for one question,
                                  // which share KV cache pages; 0: no trees
  std::int64_t tree_pages = 0;    // maximum number of KV cache pages per tree
  DeviceKind device = DeviceKind::cpu;
  MatrixType matrices = MatrixType::f32;

  /// Returns MemoryUse::others, the bytes that the other models on the rank need in addition to
  /// their weights. The argument is a copy of this object, in which batch_size, tree_paths and
  /// tree_pages may have other values. An empty function means that the rank has no other models.
  std::function<std::int64_t(const MemoryDemand& demand)> others{};
};

/// Estimates the memory of one rank in a group of `ranks` ranks. `shard` is the part of the model
/// on that rank, one of the results of shards_of().
MemoryUse memory_of(const LmConfig& config, const Shard& shard, const MemoryDemand& demand,
                    int ranks);

/// Returns the largest batch size, up to demand.batch_size, for which a rank needs at most `bytes`
/// in addition to its weights; 0 if not even one sequence fits. `shard` is the part of the model on
/// that rank, in a group of `ranks` ranks.
std::int64_t largest_batch(const LmConfig& config, const Shard& shard, MemoryDemand demand,
                           int ranks, std::int64_t bytes);

/// Returns the largest number of paths per tree, below demand.tree_paths, for which a rank has room
/// for one tree; 0 if there is no such number. The rank may use `bytes` bytes in addition to its
/// weights. The result assumes that paths share no pages, and that one path is copied at a time.
std::int64_t largest_tree(const LmConfig& config, const Shard& shard, MemoryDemand demand,
                          int ranks, std::int64_t bytes);

/// Returns the part of the model on each rank, for a group of `ranks` ranks with equal memory.
/// Errors: Failure E126 if such a split is not possible.
std::vector<Shard> shards_of(const LmConfig& config, const GroupPlan& plan, int ranks);

/// Returns whether the model can be split over a group of `ranks` ranks.
bool can_be_split(const LmConfig& config, const GroupPlan& plan, int ranks);

struct MemoryFit {
  int ranks = 1;  // number of ranks in the group
  std::int64_t batch_size = 1;
  std::vector<MemoryUse> use;  // memory of each rank of the group
};

/// Finds the smallest group that has room for the weights and one sequence. Each rank has
/// `bytes_per_rank` bytes. The number of ranks in the group divides `all_ranks` and is at least
/// `fewest`, which is at least 1.
///
/// Returns: the group, with the largest batch size that fits, up to demand.batch_size; nullopt if
///          no group has enough room
std::optional<MemoryFit> fit_memory(const LmConfig& config, const GroupPlan& plan,
                                    const MemoryDemand& demand, std::int64_t bytes_per_rank,
                                    int all_ranks, int fewest = 1);

}  // namespace mgpu::lm
