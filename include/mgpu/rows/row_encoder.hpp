#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/step_tokens.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows {

/// The tokens of a row of training data. is_learned[i] is 1 if the loss covers ids[i], otherwise 0.
struct LearnedText {
  std::vector<std::int64_t> ids;
  std::vector<std::uint8_t> is_learned;
};

/// The tokens of two completions of one prompt. Both lists of tokens begin with the prompt.
struct LearnedPair {
  LearnedText chosen;
  LearnedText rejected;
};

/// A prompt as the model sees it. For a row with `prompt`, `ids` contains the special tokens that
/// the tokenizer adds, such as bos, and `text` does not. For a row with `token_ids`, `text` is ""
/// if there is no tokenizer.
struct PromptText {
  std::string text;
  std::vector<std::int64_t> ids;
  std::vector<text::ChatMessage> messages{};  // from which `text` was rendered; empty: none
};

/// Returns the id of the padding token, or of the eos token if the tokenizer has no padding token.
/// Returns -1 if the tokenizer has neither.
std::int64_t padding_id(const text::TextFolder& folder);

/// Turns rows of training data into tokens, and marks the tokens that the loss covers.
///
/// The loss covers these parts of a row:
/// - `completion`, which follows `prompt`
/// - the messages of the assistant in `messages`, which the folder's chat template renders
/// - all of `text`
/// - `completion_ids`, which follow `token_ids`; all of `token_ids` if there are no
///   `completion_ids`
///
/// Other members of a row are ignored.
///
/// A completion that is a text ends with the eos token if the folder has one. The member `text`
/// ends with this token only if Options::ends_texts is also true. A prompt is tokenized alone and
/// together with its completion. The loss begins at the first token at which these two sequences
/// differ, which may come before the end of the prompt.
class RowEncoder {
public:
  struct Options {
    std::int64_t vocab = 0;          // size of the model's vocabulary
    bool ends_texts = true;          // whether a member `text` ends with the eos token
    std::filesystem::path folder{};  // the model's folder, for error messages
  };

  /// If `folder` is nullopt, rows must have `token_ids`.
  RowEncoder(std::optional<text::TextFolder> folder, Options options);

  /// Encodes a row of input::RowFile. The member `problem` of the row must be "". The row must have
  /// exactly one of these: `prompt` and `completion`, `messages`, `text`, `token_ids`.
  ///
  /// Errors: JsonError for a row that cannot be used. Failure with one of these codes:
  ///         - E543: a text is not UTF-8, or cannot be encoded
  ///         - E544: the chat template is not understood
  ///         - E545: the chat template refuses the row
  ///         - E546: this build has no chat templates
  ///         - E547: the chat template exceeds the limits
  ///         - E603: a row with a text needs a tokenizer, and the folder has no tokenizer
  LearnedText encode(const formats::JsonValue& row);

  /// Encodes a row with `chosen` and `rejected`, two completions of one prompt. There are three
  /// cases:
  /// - `prompt`, `chosen` and `rejected` are texts.
  /// - All three are lists of messages. The completions follow the messages of `prompt`.
  /// - `chosen` and `rejected` are lists, and `prompt` is missing, null or a text. The prompt then
  ///   consists of the messages with which both lists begin, but never includes the last message of
  ///   a list. A text `prompt` must equal the last message of this prompt.
  /// The loss of both completions begins at the same token: the first one at which either sequence
  /// differs from the tokens of the prompt alone.
  /// Errors: JsonError for a row that cannot be used, such as one with equal completions; the
  ///         failures of encode().
  LearnedPair encode_pair(const formats::JsonValue& row);

  /// Encodes the prompt of a row as job generate does. The prompt is in `token_ids`, `messages` or
  /// `prompt`. The chat template renders the `messages`, and begins the assistant's answer after
  /// them. Other members of the row are ignored.
  ///
  /// Errors: JsonError for a row that cannot be used; the failures of encode().
  PromptText encode_prompt(const formats::JsonValue& row);

  /// Encodes a row with `completion`, a completion of `prompt`. `prompt` and `completion` are two
  /// texts, or two lists of messages, which encode() does not accept. The loss covers the
  /// completion.
  ///
  /// Errors: JsonError for a row that cannot be used; the failures of encode().
  LearnedText encode_judged(const formats::JsonValue& row);

  /// Returns the tokens of a text with the tokenizer's special tokens. The last token is the eos
  /// token if the folder has one.
  /// Errors: Failure E543; E603 without a tokenizer.
  std::vector<std::int64_t> ended_ids(const std::string& text) const;

  /// Returns the tokens of a conversation as the folder's chat template renders it.
  /// Errors: JsonError if the folder has no chat template; Failure E543 to E547; E603 without a
  ///         tokenizer.
  std::vector<std::int64_t> rendered_ids(const std::vector<text::ChatMessage>& messages);

  /// Encodes a prompt and the steps of a solution, as PRMTrainer of TRL does. Prompt and steps are
  /// tokenized one by one without special tokens. `separator` follows each step. A bos token is put
  /// before the prompt if the tokenizer has one and the prompt does not begin with it.
  ///
  /// Errors: Failure E543; E603 without a tokenizer; JsonError in these cases:
  ///         - A token is outside the vocabulary.
  ///         - The prompt, including its bos token, has no tokens.
  ///         - A step, including its separator, has no tokens.
  ///         - The separator is not empty, and has no tokens.
  StepTokens encode_steps(const std::string& prompt, const std::vector<std::string>& steps,
                          const std::string& separator) const;

  /// Checks tokens that come from a data file. They must be in the vocabulary. The ends of the
  /// steps must ascend, be above `prompt_tokens`, and be at most the number of tokens. The tokens
  /// after the first `prompt_tokens` must decode to `text`, without special tokens. Without a
  /// tokenizer, texts are not compared.
  /// Errors: JsonError with the reason.
  void check_step_texts(const StepTokens& tokens, std::int64_t prompt_tokens,
                        const std::string& text) const;

private:
  PromptText encode_prompt_content(const formats::JsonValue& row);
  LearnedText encode_completion(const std::string& prompt, const std::string& completion) const;
  LearnedPair encode_texts(const formats::JsonValue& row) const;
  LearnedPair encode_conversations(const formats::JsonValue& row);
  LearnedText encode_answer(const std::string& prompt,
                            const std::vector<text::ChatMessage>& messages);
  LearnedText encode_text(const std::string& text, bool ends) const;
  LearnedText encode_messages(const std::vector<text::ChatMessage>& messages);
  LearnedText encode_content(const formats::JsonValue& row);
  static LearnedText encode_ids(std::vector<std::int64_t> ids,
                                const formats::JsonValue* completion);
  std::string render(const std::vector<text::ChatMessage>& messages, bool begins_answer);
  std::vector<std::int64_t> ids_of(const std::string& text, bool add_special_tokens) const;
  void check_ids(const std::vector<std::int64_t>& ids) const;
  const text::TextFolder& folder() const;

  std::optional<text::TextFolder> folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::rows
