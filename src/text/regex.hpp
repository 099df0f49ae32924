#pragma once

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

/// A regular expression of tokenizer files, compiled. Any number of threads may use one.
///
/// Errors: std::invalid_argument when it cannot be compiled or is not known to mean the same in
///         PCRE2 as in the tokenizers library
class Regex {
public:
  explicit Regex(std::string_view expression);

  /// Appends sections that cover `text`: matches and what lies between. An empty match is one,
  /// too, unless it touches the match before.
  /// Shapes: text is valid UTF-8
  /// Errors: Failure E543 when the text takes more steps than the engine allows
  void cut(std::string_view text, std::vector<Section>& sections) const;

private:
  /// Whether there is a match from `start` on, and where.
  bool find(std::string_view text, std::size_t start, Section& match) const;

  UniqueHandle<RegexTraits> code_;
};

}  // namespace mgpu::text
