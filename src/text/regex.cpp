#define PCRE2_CODE_UNIT_WIDTH 8
#include "regex.hpp"

#include <array>
#include <cstdlib>
#include <stdexcept>

#include <pcre2.h>

#include <mgpu/base/error.hpp>

#include "code_points.hpp"
#include "regex_classes.hpp"
#include "regex_dialect.hpp"

namespace mgpu::text {
namespace {

constexpr int kNewestUnicode = 16;  // the Unicode version of the tokenizers library

struct MatchDataTraits {
  using Raw = pcre2_match_data*;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return nullptr; }
  static void destroy(Raw data) noexcept { pcre2_match_data_free(data); }
};

pcre2_match_data* match_data() {
  thread_local const UniqueHandle<MatchDataTraits> kData(pcre2_match_data_create(1, nullptr));
  if (!kData) throw std::bad_alloc();
  return kData.get();
}

PCRE2_SPTR bytes_of(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

/// Checks that PCRE2 has Unicode 14, 15 or 16. The file regex_classes.hpp contains the characters
/// of Unicode 16 that Unicode 14 lacks.
void check_unicode_version() {
  std::array<char, 64> version{};
  pcre2_config(PCRE2_CONFIG_UNICODE_VERSION, version.data());
  const int major = std::atoi(version.data());
  if (major >= std::atoi(kPcreUnicode.data()) && major <= kNewestUnicode) return;
  throw Failure({"E542",
                 ExitCode::unavailable,
                 "a PCRE2 with Unicode " + std::string(version.data()) + " is not supported",
                 {},
                 "use a PCRE2 with Unicode 14 to 16: 10.40 to 10.45"});
}

}  // namespace

void RegexTraits::destroy(Raw code) noexcept {
  pcre2_code_free(code);
}

Regex::Regex(std::string_view expression) {
  check_unicode_version();
  const std::string pattern = to_pcre2(expression);
  int error = 0;
  PCRE2_SIZE place = 0;
  code_ = UniqueHandle<RegexTraits>(pcre2_compile(bytes_of(pattern), pattern.size(),
                                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error,
                                                  &place, nullptr));
  if (!code_) throw std::invalid_argument("regular expression: " + message(error));
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // if it fails, matching is only slower
}

bool Regex::find(std::string_view text, std::size_t start, Section& match) const {
  const auto run = [&](std::uint32_t options) {
    return pcre2_match(code_.get(), bytes_of(text), text.size(), start,
                       PCRE2_NO_UTF_CHECK | options, match_data(), nullptr);
  };
  int found = run(0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) found = run(PCRE2_NO_JIT);  // needs no JIT stack
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found < 0) {
    throw Failure({"E543",
                   ExitCode::data,
                   "the tokenizer's regular expression gave up on a text: " + message(found),
                   {"  text of " + std::to_string(text.size()) + " bytes"},
                   ""});
  }
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match_data());
  match = {bounds[0], bounds[1], true};
  return true;
}

void Regex::cut(std::string_view text, std::vector<Section>& sections) const {
  std::size_t covered = 0;  // end of the last match
  bool matched = false;
  Section match{};
  for (std::size_t start = 0; start <= text.size() && find(text, start, match);) {
    const bool empty = match.begin == match.end;
    start = match.end;
    if (empty) start += match.end < text.size() ? character_bytes(text[match.end]) : 1;
    if (empty && matched && match.end == covered) continue;
    if (match.begin > covered) sections.push_back({covered, match.begin, false});
    sections.push_back(match);
    covered = match.end;
    matched = true;
  }
  if (covered < text.size()) sections.push_back({covered, text.size(), false});
}

}  // namespace mgpu::text
