#include <algorithm>
#include <optional>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/text_steps.hpp>

namespace mgpu::rows {
namespace {

constexpr const char* kBlanks = " \t\r\n\v\f";

bool is_blank(const std::string& text) {
  return text.find_first_not_of(kBlanks) == std::string::npos;
}

/// Returns whether a step is complete. A step of a fixed length is complete if it has
/// rule.step_tokens tokens. A line is complete if it has a line break after a character that is
/// not white space.
bool is_complete(const TextStep& step, const StepRule& rule) {
  if (rule.step_tokens > 0) return static_cast<std::int64_t>(step.count) == rule.step_tokens;
  const std::size_t words = step.text.find_first_not_of(kBlanks);
  return words != std::string::npos && step.text.find('\n', words) != std::string::npos;
}

/// Joins the last step to the one before it.
void join_last(std::vector<TextStep>& steps) {
  const TextStep last = std::move(steps.back());
  steps.pop_back();
  steps.back().count += last.count;
  steps.back().text += last.text;
}

/// Splits like split_into_steps(), but blank lines at the end remain a separate step.
std::vector<TextStep> split(std::span<const std::int64_t> ids, const StepRule& rule,
                            const text::Tokenizer* tokenizer) {
  if (tokenizer == nullptr && rule.step_tokens == 0) throw Error("lines without a tokenizer");
  std::optional<text::StreamDecoder> decoder;
  if (tokenizer != nullptr) decoder.emplace(*tokenizer, /*skip_special_tokens=*/true);
  std::vector<TextStep> steps(1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool has_room = std::ssize(steps) < rule.max_steps;
    if (steps.back().count > 0 && has_room && is_complete(steps.back(), rule))
      steps.push_back({i, 0});
    ++steps.back().count;
    if (decoder) steps.back().text += decoder->add(static_cast<text::TokenId>(ids[i]));
  }
  if (decoder) steps.back().text += decoder->finish();
  return steps;
}

}  // namespace

std::vector<TextStep> split_into_steps(std::span<const std::int64_t> ids, const StepRule& rule,
                                       const text::Tokenizer* tokenizer) {
  std::vector<TextStep> steps = split(ids, rule, tokenizer);
  const bool ends_blank = rule.step_tokens == 0 && is_blank(steps.back().text);
  if (ends_blank && steps.size() > 1) join_last(steps);
  return steps;
}

bool ends_step(std::span<const std::int64_t> ids, const StepRule& rule,
               const text::Tokenizer* tokenizer) {
  const std::vector<TextStep> steps = split(ids, rule, tokenizer);
  return std::ssize(steps) < rule.max_steps && is_complete(steps.back(), rule);
}

}  // namespace mgpu::rows
