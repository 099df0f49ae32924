#pragma once

#include <memory>
#include <string_view>

namespace mgpu::text {

/// A PCRE2 regular expression from a user, for searches in arbitrary texts. Only one thread at a
/// time may use an object.
class TextPattern {
public:
  /// Errors: std::invalid_argument if the expression cannot be compiled; the message contains the
  ///         reason and the position.
  explicit TextPattern(std::string_view expression);
  ~TextPattern();
  TextPattern(TextPattern&&) noexcept;
  TextPattern& operator=(TextPattern&&) noexcept;

  /// The result of a search. `gave_up` means that PCRE2 stopped the search with an error, for
  /// example because the search took more steps than PCRE2's limit.
  enum class Found { no, yes, gave_up };

  /// Returns whether the expression matches anywhere in a text. Bytes that are not UTF-8 match
  /// nothing.
  Found find(std::string_view text) const;

private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace mgpu::text
