#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

#include "keys.hpp"
#include "method.hpp"
#include "recipes/distill/stored_targets.hpp"

namespace mgpu::recipes {

/// Unusable rows of a file, with data.on_bad_row=mark.
struct LeftOut {
  std::int64_t rows = 0;
  std::string first;  // "data.jsonl:3: it is an empty line"
};

/// Training and evaluation data of a language model, on every rank.
struct LmData {
  lm::LmExamples training;
  lm::LmExamples evaluation;           // empty: not requested
  std::vector<StoredPlace> places;     // of training examples, if distill.targets has them
  std::uint32_t teacher_crc = 0;       // of the teacher's targets, or of its folder
  std::int64_t rows_without = 0;       // rows of the teacher without learned tokens; rank 0
  std::vector<std::int64_t> stop_ids;  // end a completion; of the student's tokenizer
  std::string chat_template;           // content of data.chat_template, if it names one; rank 0
  std::vector<LeftOut> left_out;       // for each file that has such rows; rank 0
};

/// Rank 0 reads and tokenizes rows, or reads tokens of a teacher's run and checks all its targets.
/// The other ranks receive tokens.
///
/// Ranks:  collective.
/// Errors: those of encode_examples(), of the tokenizer's folder and of StoredTargets; Failure E531
///         for synthetic texts that are longer than train.seq_len; on all ranks.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    const LmMethod& method, std::int64_t vocab);

}  // namespace mgpu::recipes
