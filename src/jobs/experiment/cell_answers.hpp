#pragma once

#include <vector>

#include <mgpu/report/html_page.hpp>

#include "cell_results.hpp"

namespace mgpu::jobs {

/// Reads the first completion of each of the first prompts into CellResult::answers, for each
/// evaluated cell whose results have texts. Local. Errors: those of store::read_texts().
void read_answers(const StageGraph& graph, const std::vector<StageRecord>& records,
                  std::vector<CellResult>& cells);

/// Returns a table of CellResult::answers, in which the completions of one prompt follow each
/// other. It has no rows without completions.
report::Table answer_table(const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
