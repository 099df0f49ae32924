#include <algorithm>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include <mgpu/base/error.hpp>

#include "normalizer.hpp"

namespace mgpu::text {
namespace {

void check(UErrorCode status, const char* call) {
  if (U_FAILURE(status)) throw Error(std::string("ICU: ") + call + ": " + u_errorName(status));
}

/// Returns the set of the characters of Unicode 9. The tokenizers library normalizes by the tables
/// of that version, and leaves later characters unchanged.
const icu::UnicodeSet& unicode_9() {
  static const icu::UnicodeSet kSet = [] {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet set(u"[:age=9.0:]", status);
    check(status, "UnicodeSet");
    set.freeze();
    return set;
  }();
  return kSet;
}

class UnicodeNormalizer final : public Normalizer {
public:
  /// `form` must not change or combine characters whose first UTF-8 byte is below `first_changed`.
  UnicodeNormalizer(const icu::Normalizer2& form, unsigned char first_changed)
      : form_(form, unicode_9()), first_changed_(first_changed) {}

  void apply(std::string& text) const override {
    const bool unchanged = std::all_of(text.begin(), text.end(), [&](char c) {
      return static_cast<unsigned char>(c) < first_changed_;
    });
    if (unchanged) return;
    UErrorCode status = U_ZERO_ERROR;
    std::string normalized;
    icu::StringByteSink<std::string> sink(&normalized);
    form_.normalizeUTF8(0, text, sink, nullptr, status);
    check(status, "normalizeUTF8");
    text = std::move(normalized);
  }

private:
  icu::FilteredNormalizer2 form_;
  unsigned char first_changed_;
};

}  // namespace

std::unique_ptr<Normalizer> make_unicode_normalizer(std::string_view form) {
  constexpr unsigned char kNotAscii = 0x80;
  // The first byte of U+0300. NFC changes no character below U+0300.
  constexpr unsigned char kCombining = 0xCC;
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* data = nullptr;
  if (form == "NFC") data = icu::Normalizer2::getNFCInstance(status);
  if (form == "NFD") data = icu::Normalizer2::getNFDInstance(status);
  if (form == "NFKC") data = icu::Normalizer2::getNFKCInstance(status);
  if (form == "NFKD") data = icu::Normalizer2::getNFKDInstance(status);
  check(status, "getInstance");
  if (data == nullptr) return nullptr;
  return std::make_unique<UnicodeNormalizer>(*data, form == "NFC" ? kCombining : kNotAscii);
}

}  // namespace mgpu::text
