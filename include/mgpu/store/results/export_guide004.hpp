#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace mgpu::store {

/// What the metadata say that the result file does not.
struct Guide004Names {
  std::string teacher_model;
  std::string dataset_name;
};

/// Writes the targets of job teacher in the layout of guide 004: `logits_values` float16 [N, L, K],
/// `logits_indices` int32 [N, L, K] and `seq_lengths` int32 [N], gzip 4, where L is the longest
/// sample; and its metadata.json beside them. Logits are log-probability + log-sum-exp; padding is
/// 0. Local. Returns N.
///
/// Memory: one sample.
/// Errors: Failure E533 (exit 65) for a file that has no top k; E602; those of ListColumn.
std::int64_t export_guide004(const std::filesystem::path& results, const std::filesystem::path& out,
                             const std::filesystem::path& metadata, const Guide004Names& names);

}  // namespace mgpu::store
