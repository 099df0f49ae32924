#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Writes the top k of a run of job teacher as rectangular HDF5 data sets, compressed with gzip 4,
/// and a file metadata.json in the same folder. The data sets are `logits_values` float16 [N, L,
/// K], `logits_indices` int32 [N, L, K] and `seq_lengths` int32 [N]. L is the length of the longest
/// sample. Logits are log-probability + log-sum-exp; padding is 0. Returns N. Local.
///
/// Memory: one sample.
/// Errors: Failure E533 (exit 65) for a file without a top k; E602; those of ListColumn.
std::int64_t export_padded_targets(const run::ExportRequest& request);

}  // namespace mgpu::jobs
