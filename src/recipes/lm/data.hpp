#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

/// The unusable rows of a file, with data.on_bad_row=mark.
struct LeftOut {
  std::int64_t rows = 0;
  std::string first;  // "data.jsonl:3: it is an empty line"
};

/// Training and evaluation data of a language model, on every rank.
struct LmData {
  lm::LmExamples training;
  lm::LmExamples evaluation;           // empty: not requested
  MethodData method;                   // what LmMethod::read() returned, without its examples
  std::vector<std::int64_t> stop_ids;  // ids that end a completion, of the student's tokenizer
  std::string chat_template;      // content of data.chat_template, if it names one; rank 0 only
  std::vector<LeftOut> left_out;  // for each file that has such rows; rank 0 only
};

/// Reads the data: rank 0 reads and tokenizes rows, and reads the data of the method. The other
/// ranks receive tokens.
///
/// Ranks:  collective.
/// Errors: those of encode_examples(), of the tokenizer's folder and of LmMethod::read(); Failure
///         E531 for generated rows that are longer than train.seq_len; on all ranks.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    const LmMethod& method, std::int64_t vocab);

}  // namespace mgpu::recipes
