#pragma once

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/jobs/lm_train_config.hpp>

namespace mgpu::jobs {

/// What a language model is trained on and judged by, on every rank.
struct LmData {
  algorithms::LmExamples training;
  algorithms::LmExamples evaluation;  // empty: not asked for
};

/// Rank 0 reads and tokenizes, the others receive tokens.
///
/// Ranks:  collective.
/// Errors: Failure E603 (missing), E531 (lines that cannot be used), those of the tokenizer's
///         folder, on all ranks.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    std::int64_t vocab);

}  // namespace mgpu::jobs
