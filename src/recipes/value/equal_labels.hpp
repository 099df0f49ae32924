#pragma once

#include <string>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/training/lm_windows.hpp>

namespace mgpu::recipes {

/// Key in LmExamples::texts. The text under this key identifies the prompt of an example.
inline constexpr const char* kPromptKeys = "prompt_key";

/// Returns a text that identifies the prompt of a row: its `token_ids`, its `prompt`, or all of its
/// `messages` but the last. ValueMethod must be able to encode the row.
std::string prompt_key_of(const formats::JsonValue& row);

/// Removes all examples of a prompt if the completions of this prompt all have the same return
/// (column kReturnColumn). This also removes each prompt that has a single completion. Also removes
/// the texts kPromptKeys.
///
/// Source: Zhou et al., arXiv 2502.20548, which trains Q# on the remaining questions only.
void drop_equal_labels(lm::LmExamples& examples);

}  // namespace mgpu::recipes
