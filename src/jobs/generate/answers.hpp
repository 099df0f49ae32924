#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/datasets/dataset.hpp>

namespace mgpu::jobs {

/// The answers that completions of one prompt give.
struct SampleAnswers {
  std::vector<std::string> texts{};     // "": the completion gives no answer
  std::vector<std::int32_t> same_as{};  // the first completion with an equal answer; -1: no answer
};

/// Finds and compares the answers of the completions of one prompt. `dataset` says what an answer
/// is; nullptr: the rules of datasets::find_answer() and datasets::same_answer().
SampleAnswers answers_of(const datasets::Dataset* dataset,
                         std::span<const datasets::Answer> completions);

}  // namespace mgpu::jobs
