#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/text/tokenizer.hpp>

namespace mgpu::text {

/// The tokenizer files of a Hugging Face folder: the content of each file, "" if it is missing. One
/// rank reads the files; any rank can parse the content that it receives.
struct TextFiles {
  std::string tokenizer;           // tokenizer.json
  std::string sentence_pieces;     // tokenizer.model; only if there is no tokenizer.json
  std::string tokenizer_config;    // tokenizer_config.json
  std::string special_tokens_map;  // special_tokens_map.json
  std::string added_tokens;        // added_tokens.json
  std::string config;              // config.json
  std::string generation_config;   // generation_config.json
  /// The content of chat_template.jinja, or a template to use instead. "" means that there is no
  /// template. nullopt means that the template in tokenizer_config.json, if any, applies.
  std::optional<std::string> chat_template;
};

/// Returns whether a folder has tokenizer.json, or a tokenizer.model for one of the classes
/// LlamaTokenizer and CodeLlamaTokenizer. To find the class, reads tokenizer_config.json and
/// config.json, unless the folder has a tokenizer.json or lacks a tokenizer.model. Returns false if
/// one of these two JSON files is read and is malformed.
///
/// Errors: Failure E603 if tokenizer_config.json or config.json cannot be read.
bool has_tokenizer(const fs::path& folder);

/// Reads the tokenizer files of a model folder.
///
/// Errors: Failure E603 if a file cannot be read, or if the folder has neither tokenizer.json nor
///         tokenizer.model.
TextFiles read_text_files(const fs::path& folder);

/// Returns the folder's chat templates by name. The main template, if any, is named `default`.
/// Other templates come from a list in tokenizer_config.json, or from the files
/// additional_chat_templates/NAME.jinja.
/// Errors: Failure E541 (malformed), E603 (a file cannot be read), E622 (a Git LFS pointer)
std::map<std::string, std::string> read_chat_templates(const fs::path& folder);

/// A special token such as bos. If the tokenizer has no such token, the text is "" and the id is
/// -1. If it has the token, but the vocabulary lacks the token's text, only the id is -1.
struct SpecialToken {
  std::string text;
  TokenId id = -1;

  bool operator==(const SpecialToken&) const = default;
};

/// The tokenizer that AutoTokenizer.from_pretrained of transformers 5.23 makes from a folder. It
/// can differ from Tokenizer::open() of tokenizer.json, because some tokenizer classes of
/// transformers ignore parts of this file, such as the pre-tokenizer and the decoder.
struct TextFolder {
  Tokenizer tokenizer;
  SpecialToken bos, eos, pad, unk;
  std::vector<TokenId> stop_ids;  // generation ends after any of these; may be empty
  std::string chat_template;      // Jinja; "" if there is no template
  /// Texts of special tokens by role (bos_token, ...), for chat templates; roles without a token
  /// are absent.
  std::map<std::string, std::string> special_tokens;
};

/// Makes the tokenizer from the contents of its files. `folder` is the path in error messages.
/// Errors: Failure E541 (malformed), E542 (requires an unsupported feature), E622 (a JSON file is a
///         Git LFS pointer)
TextFolder parse_text_folder(const TextFiles& files, const fs::path& folder);

}  // namespace mgpu::text
