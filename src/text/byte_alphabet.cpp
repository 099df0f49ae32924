#include "byte_alphabet.hpp"

#include <algorithm>

#include "code_points.hpp"

namespace mgpu::text {

const ByteAlphabet& ByteAlphabet::get() {
  static const ByteAlphabet kAlphabet;
  return kAlphabet;
}

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  char32_t next = 0x100;
  for (short byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    const char32_t character = printable ? static_cast<char32_t>(byte) : next++;
    std::string text;
    append_character(text, character);
    Spelling& spelling = spellings_[static_cast<std::size_t>(byte)];
    spelling = {{}, static_cast<unsigned char>(text.size())};
    std::copy(text.begin(), text.end(), spelling.bytes.begin());
    bytes_[character] = byte;
  }
}

void ByteAlphabet::spell(std::string_view bytes, std::string& text) const {
  const std::size_t before = text.size();
  text.resize(before + 2 * bytes.size());
  char* end = text.data() + before;
  for (const char byte : bytes) {
    const Spelling& spelling = spellings_[static_cast<unsigned char>(byte)];
    end[0] = spelling.bytes[0];
    end[1] = spelling.bytes[1];
    end += spelling.size;
  }
  text.resize(static_cast<std::size_t>(end - text.data()));
}

}  // namespace mgpu::text
