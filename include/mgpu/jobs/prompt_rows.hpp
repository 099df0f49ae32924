#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/json_lines.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::jobs {

/// One line of a file of prompts; exactly one of the three is there.
struct PromptRow {
  std::int64_t line = 0;
  std::optional<std::string> prompt;
  std::vector<text::ChatMessage> messages;
  std::vector<std::int64_t> token_ids;
};

/// The rows of a JSON Lines file; members with other names are for the user's own use. A line
/// that has none of the three, or more than one, or in another shape, goes to `problems`.
std::vector<PromptRow> parse_prompt_rows(std::string_view text, store::LineProblems& problems);

/// A row as the model sees it.
struct EncodedPrompt {
  std::string text;               // "" for token ids without a tokenizer
  std::vector<std::int64_t> ids;  // at least one
};

/// How rows become tokens, made from the files of a model's folder.
class PromptEncoder {
public:
  struct Options {
    bool add_special_tokens = true;     // of `prompt` rows; chat templates write their own
    bool add_generation_prompt = true;  // of `messages` rows
    std::int64_t vocab = 0;             // of the model
  };

  /// Errors: those of parse_model_text().
  PromptEncoder(const std::optional<text::TextFiles>& files, const std::filesystem::path& folder,
                const Options& options);

  /// Nothing for a row that cannot be encoded, which goes to `problems`.
  /// Errors: E544, E546 of the folder's chat template.
  std::optional<EncodedPrompt> encode(const PromptRow& row, store::LineProblems& problems);

  /// The text of a completion, without special tokens; "" where there is no tokenizer.
  std::string decode(std::span<const std::int64_t> ids) const;

  const text::Tokenizer* tokenizer() const;

private:
  EncodedPrompt encode_text(std::string_view text, bool add_special_tokens) const;
  std::string render(const PromptRow& row);
  void check_ids(const std::vector<std::int64_t>& ids) const;

  std::optional<text::TextFolder> folder_;
  std::optional<text::ChatTemplate> chat_;
  Options options_;
};

}  // namespace mgpu::jobs
