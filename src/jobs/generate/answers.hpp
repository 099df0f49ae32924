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
  std::vector<std::string> texts{};  // "": the completion gives no answer
  /// For each completion, the index of the first completion with an equal answer; -1: no answer.
  std::vector<std::int32_t> same_as{};
};

/// Finds and compares the answers of the completions of one prompt. `dataset` defines what an
/// answer is, and when two answers are equal. If `dataset` is nullptr, datasets::find_answer()
/// finds the answers, and datasets::same_answer() compares them.
SampleAnswers answers_of(const datasets::Dataset* dataset,
                         std::span<const datasets::Answer> completions);

}  // namespace mgpu::jobs
