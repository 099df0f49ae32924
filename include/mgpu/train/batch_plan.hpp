#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::train {

/// One forward and backward pass of one rank: items [offset, offset + count) of the global batch.
struct MicroBatch {
  std::int64_t offset;
  std::int64_t count;
  bool ends_lane;  // layout mode: the pass completes the gradient of a lane
};

struct BatchShape {
  std::int64_t global_batch;  // items of an optimizer step over all ranks
  std::int64_t micro_batch;   // maximum items of a pass; 0: the items of one lane
  std::int64_t lanes;         // fixed parts of the global batch
  std::int64_t accumulation;  // minimum number of passes for a rank's share; 1: no minimum
  bool layout;                // layout mode: each rank gets whole lanes
};

/// Why some number of ranks cannot share a batch.
struct BatchProblem {
  std::string code;  // "E122"
  std::string key;   // key with the wrong value: "train.lanes"
  std::string sentence;
  std::string help;  // a valid setting
};

/// Returns problem E122 in layout mode when the number of lanes is not a power of two, does not
/// divide the batch, or is not divisible by the ranks. Returns problem E123 when there are more
/// ranks than items, and nothing for a valid combination.
std::optional<BatchProblem> problem_of(const BatchShape& shape, int ranks);

/// Returns the passes of one rank for each optimizer step.
///
/// In sum mode (layout is false), each rank gets a contiguous share, split into passes, and the
/// first ranks get the remainder. In layout mode, rank r takes lanes [r * lanes / ranks, (r + 1) *
/// lanes / ranks). A pass never crosses a lane, so its result does not depend on the number of
/// ranks.
///
/// Errors: Failure E122 or E123 (exit 78) when problem_of() finds one.
std::vector<MicroBatch> plan_micro_batches(const BatchShape& shape, int rank, int ranks);

}  // namespace mgpu::train
