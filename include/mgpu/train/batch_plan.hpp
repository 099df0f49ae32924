#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::train {

/// One forward and backward of one rank: items [offset, offset + count) of the global batch.
struct Pass {
  std::int64_t offset;
  std::int64_t count;
  bool ends_lane;  // layout mode: the gradient of a lane is complete after this pass
};

struct BatchShape {
  std::int64_t global_batch;  // items of an optimizer step, all ranks together
  std::int64_t micro_batch;   // items of a pass at most; 0: one lane
  std::int64_t lanes;         // fixed parts of the global batch
  std::int64_t accumulation;  // passes a rank cuts its share into at least; 1: no demand
  bool layout;                // whole lanes per rank
};

/// Why some ranks cannot share a batch.
struct BatchProblem {
  std::string code;      // "E122"
  std::string key;       // whose value is wrong: "train.lanes"
  std::string sentence;  //
  std::string help;      // what can be written instead
};

/// E122 in layout mode when the lanes are no power of two, do not cut the batch evenly, or are
/// not divided by the ranks; E123 when there are more ranks than items. Nothing where all is well.
std::optional<BatchProblem> problem_of(const BatchShape& shape, int ranks);

/// The passes of one rank for each optimizer step.
///
/// Sum mode: contiguous shares, the remainder to the first ranks, cut into passes. Layout mode:
/// rank r takes lanes [r * lanes / ranks, (r + 1) * lanes / ranks); a pass never crosses a lane,
/// so what a pass computes does not depend on the number of ranks.
///
/// Errors: Failure E122 or E123 (exit 78) when there is a problem_of() it.
std::vector<Pass> plan_passes(const BatchShape& shape, int rank, int ranks);

}  // namespace mgpu::train
