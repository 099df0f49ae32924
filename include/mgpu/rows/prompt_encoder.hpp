#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/row_facts.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows {

/// The tokens of a row, as input for the model.
struct EncodedPrompt {
  std::string text{};                         // "" for token ids without a tokenizer
  std::vector<std::int64_t> ids{};            // not empty unless there is a problem
  RowFacts facts{};                           // PromptEncoder sets the status to `ok` or `bad_row`
  std::string answer{};                       // column `answer` of the row, if the job reads it
  std::vector<text::ChatMessage> messages{};  // from which `text` was rendered; may be empty
  /// The number of ids at the end of `ids` that already belong to the completion.
  std::int64_t begun = 0;
};

/// Turns rows into tokens, with the tokenizer and chat template of a model folder. A row has
/// `token_ids`, `messages` or a `prompt`. If it has several of these, the first in this order is
/// used. The chat template renders only `messages`.
class PromptEncoder {
public:
  struct Options {
    bool add_special_tokens = true;     // for rows with a `prompt`, not for `messages`
    bool add_generation_prompt = true;  // for rows with `messages`: whether to begin the answer
    std::int64_t vocab = 0;             // size of the model's vocabulary
  };

  /// Parses `files`, the tokenizer files of `folder`. `files` is nullopt if the folder has no
  /// tokenizer.
  /// Errors: those of parse_tokenizer_files().
  PromptEncoder(const std::optional<text::TextFiles>& files, const std::filesystem::path& folder,
                const Options& options);

  /// Encodes a row. A row that cannot be used gets the status bad_row, with the reason.
  /// Errors: Failure E544, E546 or E547 when the chat template of the folder cannot be used, and
  ///         E603 for a text or messages if the folder has no tokenizer.
  EncodedPrompt encode(const input::Row& row);

  /// Returns the text of a completion, without special tokens; "" without a tokenizer.
  std::string decode(std::span<const std::int64_t> ids) const;

  /// Returns the tokenizer; nullptr if the folder has no tokenizer.
  const text::Tokenizer* tokenizer() const;

private:
  EncodedPrompt encode_content(const formats::JsonValue& row);
  EncodedPrompt encode_text(std::string_view text, bool add_special_tokens) const;
  EncodedPrompt encode_ids(std::vector<std::int64_t> ids) const;
  std::string render(const std::vector<text::ChatMessage>& messages);
  void check_ids(const std::vector<std::int64_t>& ids) const;

  std::filesystem::path path_;
  std::optional<text::TextFolder> folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::rows
