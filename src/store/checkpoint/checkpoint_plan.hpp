#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// The description of a tensor in a checkpoint, without its data.
struct TensorFacts {
  std::string name;
  std::string dtype_name;
  std::vector<std::int64_t> shape;
  std::uint32_t crc32c = 0;
};

/// Describes the newest intact checkpoint that rank 0 found on disk; `found` is false if the run
/// has no checkpoint. Rank 0 broadcasts the plan before the data of the tensors, so that the other
/// ranks know which tensors they receive.
struct CheckpointPlan {
  bool found = false;
  std::string directory;
  std::string state;  // CheckpointState as JSON
  std::vector<std::string> warnings;
  std::vector<TensorFacts> model;
  std::vector<TensorFacts> trainer;
};

std::string to_json(const CheckpointPlan& plan);
CheckpointPlan plan_from_json(std::string_view text);

/// Returns the description of each tensor of `file`, in the order of the tensors' data. `digest`
/// provides the CRC-32C of each tensor.
std::vector<TensorFacts> facts_of(const formats::SafetensorsFile& file,
                                  const formats::SafetensorsDigest& digest);

/// Checks that `model` and `trainer` have the names, types and shapes that `plan` lists.
/// Errors: Failure E612 with a table of the differences.
void check_fits(const CheckpointPlan& plan, std::span<const formats::NamedTensor> model,
                std::span<const formats::NamedTensor> trainer);

}  // namespace mgpu::store
