#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// A tensor of a checkpoint, without its data.
struct TensorFacts {
  std::string name;
  std::string dtype_name;
  std::vector<std::int64_t> shape;
  std::uint32_t crc32c = 0;
};

/// The findings of rank 0 on disk. The other ranks need them before the tensors' data arrive.
struct CheckpointPlan {
  bool found = false;
  std::string directory;
  std::string state;  // JSON
  std::vector<std::string> warnings;
  std::vector<TensorFacts> model;
  std::vector<TensorFacts> trainer;
};

std::string to_json(const CheckpointPlan& plan);
CheckpointPlan plan_from_json(std::string_view text);

/// Returns the tensors of a file, in the order of their data.
std::vector<TensorFacts> facts_of(const formats::SafetensorsFile& file,
                                  const formats::SafetensorsDigest& digest);

/// Compares tensors with the plan. Errors: Failure E612 with a table unless names, types and shapes
/// are equal.
void check_fits(const CheckpointPlan& plan, std::span<const formats::NamedTensor> model,
                std::span<const formats::NamedTensor> trainer);

}  // namespace mgpu::store
