#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::jobs {

/// The label that an answer names, and the reason that it gives.
struct ParsedAnswer {
  std::int32_t label = -1;  // index in classify.labels; -1: the answer names no label, or several
  /// - complete JSON answer: its member `rationale`; "" if the answer lacks this member
  /// - JSON answer that is cut short: ""
  /// - any other answer: its text, without white space at both ends
  std::string rationale;

  bool operator==(const ParsedAnswer&) const = default;
};

/// Finds labels in answers of a language model. An answer may be a JSON object with the members
/// `classification` and `rationale`. The object may be cut short, and a code fence may enclose it.
/// Any other answer must contain exactly one label as a separate word. Case does not matter.
class AnswerParser {
public:
  explicit AnswerParser(std::vector<std::string> labels);

  ParsedAnswer parse(std::string_view text) const;

private:
  std::int32_t label_of(std::string_view value) const;
  std::int32_t label_in(std::string_view text) const;

  std::vector<std::string> labels_;  // in lower case
};

/// Returns the tokens of the final channel of an answer in the harmony format (gpt-oss). This
/// format marks channels with the special tokens <|channel|> and <|message|>. Returns the whole
/// answer if it has no channels, or if the tokenizer lacks one of the special tokens. Returns no
/// tokens if the answer ends before its final channel.
std::span<const std::int64_t> final_channel(std::span<const std::int64_t> ids,
                                            const text::Tokenizer& tokenizer);

}  // namespace mgpu::jobs
