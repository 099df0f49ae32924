#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/text/tokenizer.hpp>

namespace mgpu::text {

/// What a Hugging Face folder says about texts: the content of each file, "" where there is none.
/// One rank reads the files; any rank can parse what it is sent.
struct TextFiles {
  std::string tokenizer;           // tokenizer.json
  std::string tokenizer_config;    // tokenizer_config.json
  std::string special_tokens_map;  // special_tokens_map.json
  std::string added_tokens;        // added_tokens.json
  std::string config;              // config.json
  std::string generation_config;   // generation_config.json
  /// chat_template.jinja, or one that is taken instead of it: "" is none. Nothing: what
  /// tokenizer_config.json says.
  std::optional<std::string> chat_template;
};

/// Errors: Failure E603, also where tokenizer.json is missing
TextFiles read_text_files(const fs::path& folder);

/// The folder's chat templates by name: `default`, and those of a list in tokenizer_config.json or
/// of additional_chat_templates/NAME.jinja.
/// Errors: Failure E541 (malformed)
std::map<std::string, std::string> read_chat_templates(const fs::path& folder);

/// "" and -1: there is none. A text without an id is not in the vocabulary.
struct SpecialToken {
  std::string text;
  TokenId id = -1;

  bool operator==(const SpecialToken&) const = default;
};

/// What AutoTokenizer.from_pretrained of transformers 5.23 makes of a folder. Its tokenizer may
/// be another one than that of tokenizer.json alone: some classes keep only the vocabulary.
struct TextFolder {
  Tokenizer tokenizer;
  SpecialToken bos, eos, pad, unk;
  std::vector<TokenId> stop_ids;  // generation ends behind each; may be empty
  std::string chat_template;      // Jinja; "" when there is none
  /// Texts by role (bos_token, ...), as a chat template sees them; roles without a token are
  /// absent.
  std::map<std::string, std::string> special_tokens;
};

/// `folder` stands for the place of the files in messages.
/// Errors: Failure E541 (malformed), E542 (asks for something that the program does not do)
TextFolder parse_text_folder(const TextFiles& files, const fs::path& folder);

/// Both in one.
TextFolder open_text_folder(const fs::path& folder);

}  // namespace mgpu::text
