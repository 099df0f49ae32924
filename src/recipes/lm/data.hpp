#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

/// Describes the rows of a file that were left out because they cannot be used
/// (data.on_bad_row=mark).
struct LeftOut {
  std::int64_t rows = 0;
  std::string first;  // the first such row: "data.jsonl:3: it is an empty line"
};

/// The training and evaluation data of a language model. Every rank has all members, unless stated
/// otherwise.
struct LmData {
  lm::LmExamples training;
  lm::LmExamples evaluation;  // held-out examples; may be empty
  MethodData method;  // result of LmMethod::read() without the examples; `note` on rank 0 only
  /// Token ids that end a completion, from the folder of the trained model. Empty if its tokenizer
  /// was not read, or if the folder names no such ids.
  std::vector<std::int64_t> stop_ids;
  std::uint32_t folder_crc = 0;    // checksum of the trained model's folder; 0: random weights
  std::string chat_template;       // chosen by data.chat_template, or ""; rank 0 only
  std::vector<LeftOut> left_out;   // one for each file with unusable rows; rank 0 only
  std::vector<std::string> notes;  // notes about rows that were left out; rank 0 only
};

/// Reads the training and evaluation data. Rank 0 reads and tokenizes rows, and calls
/// LmMethod::read(). The other ranks receive the results.
///
/// Ranks:  collective over `world`.
/// Errors: those of encode_examples(), of LmMethod::read() and of reading the model's folder. If
///         one rank fails, all ranks throw.
LmData load_lm_data(const cluster::Group& world, const LmTrainSettings& settings,
                    const LmMethod& method, std::int64_t vocab);

}  // namespace mgpu::recipes
