#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/text/tokenizer.hpp>

#include "hard_texts.hpp"

namespace mgpu::text {

inline const std::filesystem::path kGoldens = MGPU_GOLDENS;

inline const std::vector<std::string>& texts() {
  static const auto kTexts = make_hard_texts(kGoldens / "hard_texts.json");
  return kTexts;
}

/// Reads a file with a hash of 8 bytes per text. Returns each hash as 16 hexadecimal digits.
inline std::vector<std::string> read_hashes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> hashes(bytes.size() / 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    hashes[i / 8] += {kDigits[byte >> 4], kDigits[byte & 0xF]};
  }
  return hashes;
}

inline void append_size(std::string& message, std::size_t size) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    message += static_cast<char>(size >> shift & 0xFF);
}

inline void append(std::string& message, const std::vector<TokenId>& ids) {
  append_size(message, ids.size());
  for (const TokenId id : ids)
    append_size(message, static_cast<std::size_t>(id));
}

inline void append(std::string& message, const std::string& text) {
  append_size(message, text.size());
  message += text;
}

inline std::string hash_of(const Tokenizer& tokenizer, std::size_t number) {
  const auto framed = tokenizer.encode(texts()[number], true);
  std::string message;
  append(message, tokenizer.encode(texts()[number], false));
  append(message, framed);
  append(message, tokenizer.decode(framed, true));
  append(message, tokenizer.decode(framed, false));
  append(message, tokenizer.decode(make_hard_ids(number, tokenizer.vocab_size()), false));
  return sha256_hex(message).substr(0, 16);
}

/// Returns the numbers of the texts for which the tokenizer differs from the tokenizers library.
inline std::vector<std::size_t> different_texts(const Tokenizer& tokenizer,
                                                const std::vector<std::string>& expected) {
  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < texts().size(); ++i)
    if (hash_of(tokenizer, i) != expected.at(i)) different.push_back(i);
  return different;
}

}  // namespace mgpu::text
