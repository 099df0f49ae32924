#pragma once

#include <cstdint>

#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Writes a JSON line for each solution, in the form that TRL calls stepwise supervision. The
/// members of a line are `prompt`, `completions` (the text of each step), `labels` (whether the
/// value of each step is above 0) and `values` (the value of each step). If steps are lines, white
/// space at the end of each step is removed. Returns the number of JSON lines.
///
/// Ranks:  local.
/// Errors: Failure E143 (exit 64) if the steps are the work of agents, if a question has token ids
///         without a text, or if the run has no solutions; E602 (exit 74) if the file cannot be
///         written; those of TreeReader.
std::int64_t export_stepwise(const run::ExportRequest& request);

}  // namespace mgpu::jobs
