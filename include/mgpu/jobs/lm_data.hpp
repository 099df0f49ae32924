#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/jobs/lm_train_config.hpp>
#include <mgpu/jobs/stored_targets.hpp>

namespace mgpu::jobs {

/// What a language model is trained on and judged by, on every rank.
struct LmData {
  algorithms::LmExamples training;
  algorithms::LmExamples evaluation;   // empty: not asked for
  std::vector<StoredPlace> places;     // of the training's, where distill.targets has them
  std::uint32_t teacher_crc = 0;       // of what it said of them, or of its folder
  std::int64_t rows_without = 0;       // of the teacher's rows, in which nothing is learned
  std::vector<std::int64_t> stop_ids;  // that end a completion; of the student's tokenizer
};

/// Rank 0 reads and tokenizes, or reads tokens of a teacher's run and checks all its targets; the
/// others receive tokens.
///
/// Ranks:  collective.
/// Errors: Failure E603 (missing), E531 (lines that cannot be used), those of the tokenizer's
///         folder and of StoredTargets, on all ranks.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    std::int64_t vocab);

}  // namespace mgpu::jobs
