#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::rows {

/// A step of a solution: consecutive tokens and their text.
struct TextStep {
  std::size_t first = 0;  // index of the first token in the solution
  std::size_t count = 0;  // number of tokens, at least 1
  std::string text{};     // without special tokens; "" without a tokenizer
};

/// How solutions are split into steps.
struct StepRule {
  std::int64_t step_tokens = 0;  // number of tokens of a step; 0: each line is a step
  std::int64_t max_steps = 32;   // most steps; the last step contains all remaining tokens
};

/// Splits the tokens of a solution into steps. If steps are lines, a step ends with the token that
/// contains the line break. Blank lines belong to the step after them; at the end of the solution,
/// they belong to the last step. The concatenated texts of all steps are the decoded solution. If
/// the bytes of a character are divided between two steps, the character is in the text of the
/// second step.
///
/// `tokenizer` may be nullptr if steps have a fixed number of tokens. `ids` must not be empty.
std::vector<TextStep> split_into_steps(std::span<const std::int64_t> ids, const StepRule& rule,
                                       const text::Tokenizer* tokenizer);

/// Returns true if the last token of `ids` completes a step, and another step may follow because
/// the solution has fewer than rule.max_steps steps. The arguments are those of split_into_steps().
bool ends_step(std::span<const std::int64_t> ids, const StepRule& rule,
               const text::Tokenizer* tokenizer);

}  // namespace mgpu::rows
