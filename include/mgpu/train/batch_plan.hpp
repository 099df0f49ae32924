#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::train {

/// One forward and backward pass of one rank, over items (training examples) [offset, offset +
/// count) of the global batch.
struct MicroBatch {
  std::int64_t offset;
  std::int64_t count;
  bool ends_lane;  // with BatchShape::layout: this pass completes the gradient of a lane
};

struct BatchShape {
  std::int64_t global_batch;  // items of an optimizer step over all ranks
  std::int64_t micro_batch;   // most items in a pass, never more than a lane has; 0: a whole lane
  std::int64_t lanes;         // number of lanes, the parts into which the global batch is cut
  std::int64_t accumulation;  // without layout: a pass has at most ceil(n / accumulation) of the n
                              // items of a rank
  bool layout;  // run.deterministic=layout: ranks get whole lanes; else items are shared evenly
  bool fills_gpu = false;  // true: on a GPU without layout, micro_batch 0 means all items of a rank
};

/// The reason why a number of ranks cannot share the global batch.
struct BatchProblem {
  std::string code;  // "E122"
  std::string key;   // key with the wrong value: "train.lanes"
  std::string sentence;
  std::string help;  // advice, such as a setting that would be valid
};

/// Returns why `ranks` ranks cannot share the global batch, or nullopt if they can.
///
/// With BatchShape::layout, problem E122 means that the number of lanes is not a power of two, does
/// not divide the batch, or is not divisible by the number of ranks. Without layout, problem E123
/// means that there are more ranks than items.
std::optional<BatchProblem> problem_of(const BatchShape& shape, int ranks);

/// Returns the passes of rank `rank` in an optimizer step, on a device of kind `device`. All steps
/// have the same passes.
///
/// Without BatchShape::layout, each rank gets consecutive items, split into passes. If the number
/// of items is not a multiple of `ranks`, the first ranks get one more item than the last ranks.
///
/// With layout, the batch consists of equal parts, the lanes, and rank r gets lanes [r * lanes /
/// ranks, (r + 1) * lanes / ranks). A pass stays inside one lane, so the gradient of a lane does
/// not depend on the number of ranks.
///
/// BatchShape::fills_gpu is for small models, whose small passes would spend more time on kernel
/// launches than on computations.
///
/// Errors: Failure E122 or E123 (exit 78) when problem_of() finds one.
std::vector<MicroBatch> plan_micro_batches(const BatchShape& shape, int rank, int ranks,
                                           DeviceKind device);

}  // namespace mgpu::train
