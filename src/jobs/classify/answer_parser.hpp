#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/text/tokenizer.hpp>

namespace mgpu::jobs {

/// What an answer says.
struct ParsedAnswer {
  std::int32_t label = -1;  // index; -1: it names none, or several
  std::string rationale;    // "" where it gives none

  bool operator==(const ParsedAnswer&) const = default;
};

/// Reads labels in answers of a language model: `classification` and `rationale` of a JSON object,
/// bare, in a code fence or cut short; else the one label that the text names as a word of its own.
/// Upper and lower case are the same.
class AnswerParser {
public:
  explicit AnswerParser(std::vector<std::string> labels);

  ParsedAnswer parse(std::string_view text) const;

private:
  std::int32_t label_of(std::string_view value) const;
  std::int32_t label_in(std::string_view text) const;

  std::vector<std::string> labels_;  // in lower case
};

/// The final channel of an answer in harmony's form (gpt-oss), found by the ids of <|channel|>,
/// <|message|> and the tokens that end a message; all of it where it has no channels or the
/// tokenizer has no such tokens; nothing where it ends before its final channel.
std::span<const std::int64_t> final_channel(std::span<const std::int64_t> ids,
                                            const text::Tokenizer& tokenizer);

}  // namespace mgpu::jobs
