#pragma once

#include <cstdint>

#include <mgpu/config/key_table.hpp>
#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Adds the key collect.pt_parts.
void add_pt_key(KeyTable& table);

/// Writes the questions of a run as files of PyTorch, with a JSON file of metadata for each, into
/// the folder request.out. The names are {task}_{method}_{time}, with _gpu_I for part I and _merged
/// for all questions. If there is only one part, the name has no ending. Parts are contiguous
/// ranges of rows, and the first parts may have one row more. So a part does not depend on which
/// rank did the work. Questions without solutions are left out. Returns the number of questions.
/// Local.
///
/// Memory: the states of all questions.
/// Errors: Failure E143 (exit 64) if the run has no solutions; E601 (exit 73) if the folder cannot
///         be made; those of PtReader and tensor::write_pickle().
std::int64_t export_pt(const run::ExportRequest& request);

}  // namespace mgpu::jobs
