#pragma once

#include <cstdint>

#include <mgpu/config/key_table.hpp>
#include <mgpu/run/export_format.hpp>

namespace mgpu::jobs {

/// Adds the key collect.pt_parts.
void add_pt_key(KeyTable& table);

/// Writes the questions of a run as PyTorch files into the folder request.out. For each of these
/// files, also writes a JSON file with metadata. Questions without solutions are left out. Returns
/// the number of questions that were written.
///
/// The key collect.pt_parts sets the number of parts. With several parts, the function writes a
/// file {task}_{method}_{time}_gpu_I.pt for each part I, and a file with the ending _merged.pt for
/// all questions. With one part, it writes only the file {task}_{method}_{time}.pt. A part is a
/// contiguous range of rows; the first parts may have one row more than the others. So the parts do
/// not depend on which rank worked on which question.
///
/// Ranks:  local.
/// Memory: the states of all questions.
/// Errors: Failure E143 (exit 64) if the run has no solutions; E610 (exit 65) if the file of agents
///         has changed since the run; E601 (exit 73) if the folder cannot be made; those of
///         PtReader, tensor::write_pickle() and write_file_durably().
std::int64_t export_pt(const run::ExportRequest& request);

}  // namespace mgpu::jobs
