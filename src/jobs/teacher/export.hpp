#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Writes the stored top k of a run of job teacher as HDF5 data sets, which are padded to the
/// longest sample. Also writes metadata.json in the folder of the results. Returns the number of
/// samples. Local.
///
/// The data sets are `logits_values` float16 [N, L, K], `logits_indices` int32 [N, L, K] and
/// `seq_lengths` int32 [N], compressed with gzip 4. L is the length of the longest sample. Logits
/// are log-probability + log-sum-exp; padding is 0.
///
/// Memory: one sample.
/// Errors: Failure E533 (exit 65) for a file without a top k; E602 if a file cannot be written;
///         those of ListColumn.
std::int64_t export_padded_targets(const run::ExportRequest& request);

}  // namespace mgpu::jobs
