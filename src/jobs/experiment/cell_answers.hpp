#pragma once

#include <vector>

#include <mgpu/report/html_page.hpp>

#include "cell_results.hpp"

namespace mgpu::jobs {

/// Reads the first completions of the first prompts of each cell that is evaluated, if its results
/// have texts. Local. Errors: those of store::read_texts().
void read_answers(const StageGraph& graph, const std::vector<StageRecord>& records,
                  std::vector<CellResult>& cells);

/// Returns a table of these completions, so that those for one prompt are below each other. It is
/// empty without completions.
report::Table answer_table(const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
