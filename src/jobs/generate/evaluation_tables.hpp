#pragma once

#include <vector>

#include <mgpu/report/summary.hpp>
#include <mgpu/store/results/seal.hpp>

#include "evaluation.hpp"

namespace mgpu::jobs {

/// Returns two tables for results.h5. Table `evaluation` has the mean of each metric over all
/// prompts, and over each group of prompts (data.columns.group). Table `prompts` has the values of
/// each prompt.
std::vector<store::SmallTable> evaluation_tables(const Evaluation& evaluation);

/// Returns the mean of each metric over all prompts, for the end table, summary.json and the page.
/// A metric without any value is left out.
std::vector<report::Result> evaluation_results(const Evaluation& evaluation);

}  // namespace mgpu::jobs
