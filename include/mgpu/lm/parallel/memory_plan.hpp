#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

// What a generation needs, from config.json alone. Units: bytes, without the program itself and
// what glibc keeps of freed memory (at most 64 MiB).
namespace mgpu::lm {

struct MemoryUse {
  std::int64_t weights = 0;
  std::int64_t cache = 0;        // pages of keys and values
  std::int64_t activations = 0;  // of one pass, at its widest
  std::int64_t buffers = 0;      // between ranks

  std::int64_t total() const { return weights + cache + activations + buffers; }
};

struct MemoryDemand {
  std::int64_t batch_size = 16;
  std::int64_t longest = 512;       // tokens of a prompt and its completion
  std::int64_t prefill_tokens = 0;  // of one pass; 0: the device's PassSizes
  std::int64_t page_tokens = 16;
  CacheType cache_type = CacheType::f32;
  bool has_samples = false;  // several completions of a prompt
  bool is_scoring = false;   // nothing is completed
  DeviceKind device = DeviceKind::cpu;
  MatrixType matrices = MatrixType::f32;
};

/// What one rank of a group needs; the ranks of a group are those of shards_of().
MemoryUse memory_of(const LmConfig& config, const Shard& shard, const MemoryDemand& demand,
                    int ranks);

/// The largest batch up to demand.batch_size for which a rank needs at most `bytes` beside its
/// weights; 0 when not even one sequence fits.
std::int64_t largest_batch(const LmConfig& config, const Shard& shard, MemoryDemand demand,
                           int ranks, std::int64_t bytes);

/// Shards of all ranks of a group. Errors: Failure E126.
std::vector<Shard> shards_of(const LmConfig& config, const GroupPlan& plan, int ranks);

/// Whether the model can be shared out to so many ranks.
bool can_be_split(const LmConfig& config, const GroupPlan& plan, int ranks);

struct MemoryFit {
  int ranks = 1;  // of a group
  std::int64_t batch_size = 1;
  std::vector<MemoryUse> use;  // of each rank
};

/// The smallest group that has `fewest` >= 1 ranks or more, divides `all_ranks` and has room for
/// one sequence, and the largest batch for it, up to demand.batch_size. None when there is no such
/// group.
std::optional<MemoryFit> fit_memory(const LmConfig& config, const GroupPlan& plan,
                                    const MemoryDemand& demand, std::int64_t bytes_per_rank,
                                    int all_ranks, int fewest = 1);

}  // namespace mgpu::lm
