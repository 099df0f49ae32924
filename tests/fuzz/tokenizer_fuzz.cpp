// Reads any bytes as a folder's files and a text. The result must be a printable Failure, or a
// tokenizer that encodes and decodes the text to valid UTF-8, at once and token by token.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/text/text_folder.hpp>

namespace {

using namespace mgpu;
using namespace mgpu::text;

void require(bool ok) {
  if (!ok) std::abort();
}

/// Removes and returns the part before the next line of dashes, which separates the files.
std::string next_part(std::string_view& rest) {
  constexpr std::string_view kMark = "\n----\n";
  const std::size_t mark = rest.find(kMark);
  const std::string part(rest.substr(0, mark));
  rest.remove_prefix(mark == rest.npos ? rest.size() : mark + kMark.size());
  return part;
}

void use(const Tokenizer& tokenizer, const std::string& text) {
  const auto ids = tokenizer.encode(text, true);
  for (const bool skip : {false, true}) {
    const std::string decoded = tokenizer.decode(ids, skip);
    require(find_bad_utf8(decoded) == std::string::npos);
    StreamDecoder stream(tokenizer, skip);
    std::string streamed;
    for (const TokenId id : ids) {
      streamed += stream.add(id);
      require(find_bad_utf8(streamed) == std::string::npos);
    }
    require(streamed + stream.finish() == decoded);
  }
}

}  // namespace

/// Runs one input: tokenizer.json, the text, tokenizer_config.json, special_tokens_map.json,
/// config.json, and a tokenizer.model that replaces tokenizer.json unless it is empty.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  TextFiles files;
  files.tokenizer = next_part(rest);
  const std::string text = next_part(rest);
  files.tokenizer_config = next_part(rest);
  files.special_tokens_map = next_part(rest);
  files.config = next_part(rest);
  files.sentence_pieces = next_part(rest);
  try {
    use(parse_text_folder(files, "fuzz").tokenizer, text);
  } catch (const Failure& failure) {
    const std::string shown = render(failure.report());
    require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
  }
  return 0;
}
