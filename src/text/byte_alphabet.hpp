#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::text {

/// The characters that represent the 256 bytes in byte-level vocabularies. A byte that is a visible
/// Latin-1 character is represented by this character. The other bytes, in ascending order, are
/// represented by the characters from U+0100 on.
/// Source: GPT-2, encoder.py, bytes_to_unicode
class ByteAlphabet {
public:
  static const ByteAlphabet& get();

  /// Appends to `text` the characters that represent `bytes`.
  void spell(std::string_view bytes, std::string& text) const;

  /// Returns the byte that a character represents; nullopt for other characters.
  std::optional<unsigned char> byte(char32_t character) const {
    if (character >= kEnd || bytes_[character] < 0) return {};
    return static_cast<unsigned char>(bytes_[character]);
  }

private:
  static constexpr char32_t kEnd = 0x144;

  struct Spelling {
    std::array<char, 2> bytes;
    unsigned char size;
  };

  ByteAlphabet();

  std::array<Spelling, 256> spellings_;
  std::array<short, kEnd> bytes_;
};

}  // namespace mgpu::text
