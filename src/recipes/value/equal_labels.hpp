#pragma once

#include <string>

#include <mgpu/lm/training/lm_windows.hpp>

namespace mgpu::recipes {

/// Key in LmExamples::texts. The text under this key identifies the prompt of an example.
inline constexpr const char* kPromptKeys = "prompt_key";

/// Returns a text that identifies the prompt of the only example in `row`. Examples have equal
/// texts if their tokens before the completion are equal.
std::string prompt_key_of(const lm::LmExamples& row);

/// Removes the examples of each prompt whose completions all have the same value in column
/// kReturnColumn, also if it has a single completion. Also removes the texts kPromptKeys.
///
/// Source: Zhou et al., arXiv 2502.20548, which trains Q# on the other questions only.
void drop_equal_labels(lm::LmExamples& examples);

}  // namespace mgpu::recipes
