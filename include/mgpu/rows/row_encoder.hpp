#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows {

/// Tokens of a row of data, and where they are learned.
struct LearnedText {
  std::vector<std::int64_t> ids;
  std::vector<std::uint8_t> is_learned;
};

/// Turns rows of data into tokens: `prompt` and `completion`, of which the completion is learned;
/// `messages`, of which what the assistant says is learned, in the form of the folder's chat
/// template; `text`, which is learned whole; `token_ids`, which are learned whole, or are the
/// prompt of `completion_ids`. Other members are the user's own.
///
/// A completion ends with the eos token, where the folder has one; a text, if it is asked for. What
/// a completion teaches begins with the first token that it changes: prompt and both together are
/// tokenized, and may share fewer tokens than the prompt has.
class RowEncoder {
public:
  struct Options {
    std::int64_t vocab = 0;  // of the model
    bool ends_texts = true;  // with the eos token
  };

  /// Without a folder only token_ids can be used.
  RowEncoder(std::optional<text::TextFolder> folder, const Options& options);

  /// `row` is one of input::RowFile without a problem, which has exactly one of them.
  /// Errors: store::JsonError for a row that cannot be used; Failure E543 and E545 for its text,
  ///         E544, E546 of the folder's chat template.
  LearnedText encode(const formats::JsonValue& row);

private:
  LearnedText encode_text(const std::string& text, bool ends) const;
  LearnedText encode_completion(const std::string& prompt, const std::string& completion) const;
  LearnedText encode_messages(const std::vector<text::ChatMessage>& messages);
  LearnedText encode_content(const formats::JsonValue& row);
  static LearnedText encode_ids(std::vector<std::int64_t> ids,
                                const formats::JsonValue* completion);
  std::string render(const std::vector<text::ChatMessage>& messages, bool begins_answer);
  std::vector<std::int64_t> ids_of(const std::string& text, bool add_special_tokens) const;
  const text::TextFolder& folder() const;

  std::optional<text::TextFolder> folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::rows
