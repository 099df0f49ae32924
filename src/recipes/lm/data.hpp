#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

#include "keys.hpp"
#include "recipes/distill/stored_targets.hpp"

namespace mgpu::recipes {

/// Rows of a file that cannot be used, with data.on_bad_row=mark.
struct LeftOut {
  std::int64_t rows = 0;
  std::string first;  // "data.jsonl:3: it is an empty line"
};

/// What a language model is trained on and judged by, on every rank.
struct LmData {
  lm::LmExamples training;
  lm::LmExamples evaluation;           // empty: not asked for
  std::vector<StoredPlace> places;     // of the training's, where distill.targets has them
  std::uint32_t teacher_crc = 0;       // of what it said of them, or of its folder
  std::int64_t rows_without = 0;       // of the teacher's rows, in which nothing is learned; rank 0
  std::vector<std::int64_t> stop_ids;  // that end a completion; of the student's tokenizer
  std::string chat_template;           // of data.chat_template, where it names one; rank 0
  std::vector<LeftOut> left_out;       // of each file that has such rows; rank 0
};

/// Rank 0 reads and tokenizes, or reads tokens of a teacher's run and checks all its targets; the
/// others receive tokens.
///
/// Ranks:  collective.
/// Errors: those of encode_examples(), of the tokenizer's folder and of StoredTargets; Failure
///         E531 for synthetic texts that are longer than train.seq_len; on all ranks.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    std::int64_t vocab);

}  // namespace mgpu::recipes
