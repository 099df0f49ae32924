#pragma once

#include <string>
#include <string_view>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows::test {

/// The 63 characters that char_tokenizer() knows by default. The id of a character is its index.
inline constexpr std::string_view kAlphabet =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123 .:?!\n-";

/// The last token, which ends a text.
inline constexpr const char* kEnd = "<e>";

/// Returns a tokenizer.json with one token for each character of `alphabet`, and kEnd as the last
/// token.
inline std::string char_tokenizer(std::string_view alphabet = kAlphabet) {
  std::string vocab;
  for (std::size_t id = 0; id < alphabet.size(); ++id) {
    const char c = alphabet[id];
    const std::string shown = c == ' '    ? "\u0120"  // as ByteLevel writes them
                              : c == '\n' ? "\u010A"
                                          : std::string(1, c);
    vocab += (id == 0 ? "\"" : ", \"") + shown + "\": " + std::to_string(id);
  }
  constexpr const char* kByteLevel =
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})";
  return std::string(
             R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [)") +
         R"({"id": )" + std::to_string(alphabet.size()) + R"(, "content": ")" + kEnd +
         R"(", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, )" +
         R"("special": true}], "normalizer": null, "post_processor": null, "pre_tokenizer": )" +
         kByteLevel + R"(, "decoder": )" + kByteLevel +
         R"(, "model": {"type": "BPE", "dropout": null, "unk_token": null, )" +
         R"("continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false, )" +
         R"("byte_fallback": false, "ignore_merges": false, "merges": [], "vocab": {)" + vocab +
         "}}}";
}

/// Returns the files of a folder with char_tokenizer(). `chat`: its chat template, or "" for no
/// template.
inline text::TextFiles char_files(const std::string& chat = "") {
  text::TextFiles files;
  files.tokenizer = char_tokenizer();
  files.tokenizer_config = std::string(R"({"eos_token": ")") + kEnd + "\"}";
  files.chat_template = chat;
  return files;
}

inline text::TextFolder char_folder(const std::string& chat = "") {
  return text::parse_text_folder(char_files(chat), "folder");
}

/// The id of kEnd, which is the last one. kVocab is the number of tokens.
inline constexpr auto kEndId = static_cast<std::int64_t>(kAlphabet.size());
inline constexpr std::int64_t kVocab = kEndId + 1;

/// Returns the ids of a text that consists of characters of kAlphabet.
inline std::vector<std::int64_t> ids_of(std::string_view text) {
  std::vector<std::int64_t> ids;
  for (const char c : text)
    ids.push_back(static_cast<std::int64_t>(kAlphabet.find(c)));
  return ids;
}

/// Returns a row on line 1, as input::RowFile returns it.
inline input::Row row_of(std::string_view json) {
  input::Row row;
  row.line = 1;
  row.object = formats::parse_json_object(json);
  return row;
}

}  // namespace mgpu::rows::test
