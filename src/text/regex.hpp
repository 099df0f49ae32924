#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/unique_handle.hpp>

#include "sections.hpp"

struct pcre2_real_code_8;

namespace mgpu::text {

struct RegexTraits {
  using Raw = pcre2_real_code_8*;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return nullptr; }
  static void destroy(Raw code) noexcept;
};

/// A compiled regular expression of a tokenizer file. Any number of threads may use one object.
///
/// Errors: std::invalid_argument when the expression cannot be compiled, or may have another
///         meaning in PCRE2 than in the tokenizers library. Failure E542 if the Unicode version of
///         PCRE2 is not 14, 15 or 16
class Regex {
public:
  explicit Regex(std::string_view expression);

  /// Divides `text`, which must be valid UTF-8, into matches and the text outside matches, and
  /// appends each as a Section to `sections`. An empty match at the end of the previous match is
  /// ignored.
  /// Errors: Failure E543 when PCRE2 gives up, for example because a search takes too many steps
  void cut(std::string_view text, std::vector<Section>& sections) const;

private:
  /// Sets `match` to the first match that begins at offset `start` or later. Returns false if no
  /// such match exists.
  bool find(std::string_view text, std::size_t start, Section& match) const;

  UniqueHandle<RegexTraits> code_;
};

}  // namespace mgpu::text
