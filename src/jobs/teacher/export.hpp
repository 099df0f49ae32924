#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Reads the results of a run of job teacher with teacher.targets=topk from request.results. Writes
/// the K most probable tokens at each position, and their logits, to the HDF5 file request.out.
/// Also writes metadata.json in the folder of the results. Returns the number of samples.
///
/// The HDF5 data sets are `logits_values` float16 [N, L, K], `logits_indices` int32 [N, L, K] and
/// `seq_lengths` int32 [N], compressed with gzip 4. N is the number of samples, and L is the number
/// of tokens of the longest sample, at least 1. Shorter samples are padded with 0. A logit is
/// stored as log-probability + log-sum-exp, which is the logit divided by teacher.temperature.
///
/// Ranks:  local.
/// Memory: one sample.
/// Errors: Failure E533 (exit 65) if the run had another value of teacher.targets than topk; E602
///         if a file cannot be written; those of ListColumn.
std::int64_t export_padded_targets(const run::ExportRequest& request);

}  // namespace mgpu::jobs
