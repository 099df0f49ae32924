#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mgpu::datasets {

/// Returns the answer that a completion states; nullopt if it states none. The answer is the first
/// item of this list that the completion contains:
/// - the content of the last closed \boxed{...}
/// - the text after the last `####` on its line
/// - the last formula $...$ that is a number
/// - the last number
std::optional<std::string> find_answer(std::string_view completion);

/// Returns an answer without LaTeX commands for spacing, style and text, without currency and
/// degree signs, without punctuation at its end, and without a leading assignment such as `x =`.
/// Commands with the same meaning get one name, such as \frac for \dfrac.
std::string plain_answer(std::string_view answer);

/// Returns whether two answers are equal. Two numbers are compared exactly by same_number(), for
/// which 50 % also equals 0.5; units after the numbers are ignored. Lists with the same brackets,
/// such as (1, 1/2), are compared item by item, in order. Other answers are compared as texts,
/// without blanks and without case; (A) also equals A, and x^{2} also equals x^2. Returns false if
/// an answer is empty.
bool same_answer(std::string_view given, std::string_view expected);

/// Returns whether a completion states the expected answer. `expected` is an answer, or a solution
/// that states its answer in \boxed{...} or after `####`.
bool is_right(std::string_view completion, std::string_view expected);

/// Returns the answer that a solution states: the content of the last closed \boxed{...}, or else
/// the text after the last `####` on its line. Returns the whole solution if it has no closed
/// \boxed{...}, and no text after its last `####`.
std::string stated_answer(std::string_view solution);

}  // namespace mgpu::datasets
