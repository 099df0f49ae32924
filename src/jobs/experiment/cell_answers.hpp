#pragma once

#include <vector>

#include <mgpu/report/html_page.hpp>

#include "cell_results.hpp"

namespace mgpu::jobs {

/// Sets CellResult::answers of each cell in state eval_completed. A cell is one evaluation of an
/// algorithm. The answers are the first completion of each of the first 3 prompts, found in the
/// first 256 rows of the results. They stay empty if the results lack the texts of prompts and
/// completions, for example because of output.text=false.
///
/// Ranks:  local.
/// Errors: those of store::read_texts().
void read_answers(const StageGraph& graph, const std::vector<StageRecord>& records,
                  std::vector<CellResult>& cells);

/// Returns a table of the CellResult::answers of all cells, grouped by prompt. The table has no
/// rows if no cell has answers.
report::Table answer_table(const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
