#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "rope.hpp"

// What a call says about its runs, for inference and for training.
namespace mgpu::lm {

/// The ids of all runs one after the other, [N] int64 on the CPU; 0 for tokens that come as
/// embeddings or device_ids.
/// Errors: ShapeError when one is not in the vocabulary.
at::Tensor all_ids(const LmConfig& config, std::span<const TokenRun> runs);

/// Rows of the first layer's input that are given and not looked up.
struct GivenRows {
  std::int64_t first;     // row of the call
  at::Tensor embeddings;  // [n, D] float32
};

/// What goes into a call.
struct ModelInput {
  at::Tensor ids;                // [N] int64 on the model's device; any id for given rows
  std::vector<GivenRows> given;  // in the order of their rows
};

/// Errors: ShapeError when an id is not in the vocabulary, or embeddings are not [n, D] float32.
ModelInput input_of(const LmConfig& config, std::span<const TokenRun> runs,
                    const at::Device& device);

/// Position of each run's first token; checks that learned positions suffice.
/// Errors: ShapeError.
std::vector<RotatedRun> places_of(const LmConfig& config, std::span<const TokenRun> runs,
                                  const PagedCache* cache);

/// What goes into the layers, and what comes out of the last one.
struct RowCounts {
  std::int64_t tokens = 0;
  std::int64_t wanted = 0;
};
RowCounts count_rows(std::span<const TokenRun> runs);

/// Rows of the tokens whose states are wanted, [W] int64 on the device of `ids`; undefined where
/// all are.
at::Tensor wanted_rows(std::span<const TokenRun> runs, const at::Tensor& ids);

}  // namespace mgpu::lm
