#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <new>
#include <stdexcept>
#include <string>

#include <pcre2.h>

#include <mgpu/base/utf8.hpp>
#include <mgpu/text/text_pattern.hpp>

namespace mgpu::text {

struct TextPattern::Code {
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;

  Code() = default;
  ~Code() {
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
};

TextPattern::TextPattern(std::string_view expression) : code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE place = 0;
  code_->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &place, nullptr);
  if (code_->code == nullptr) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    const std::size_t before = utf8_length(expression.substr(0, place));
    throw std::invalid_argument(std::string(reinterpret_cast<const char*>(text.data())) +
                                " at character " + std::to_string(before + 1));
  }
  code_->match = pcre2_match_data_create(1, nullptr);
  if (code_->match == nullptr) throw std::bad_alloc();
}

TextPattern::~TextPattern() = default;
TextPattern::TextPattern(TextPattern&&) noexcept = default;
TextPattern& TextPattern::operator=(TextPattern&&) noexcept = default;

TextPattern::Found TextPattern::find(std::string_view text) const {
  const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                0, 0, code_->match, nullptr);
  if (found == PCRE2_ERROR_NOMATCH) return Found::no;
  return found < 0 ? Found::gave_up : Found::yes;
}

}  // namespace mgpu::text
