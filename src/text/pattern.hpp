#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"
#include "sections.hpp"

namespace mgpu::text {

/// A pattern to search for in texts: a regular expression, a fixed text, or a kind of character.
class Pattern {
public:
  virtual ~Pattern() = default;

  /// Divides `text` into matches and the text outside matches, and appends each as a Section to
  /// `sections`. `text` must be valid UTF-8.
  /// Errors: for a regular expression those of Regex::cut()
  virtual void cut(std::string_view text, std::vector<Section>& sections) const = 0;
};

/// Makes a pattern from a regular expression of a tokenizer file. Errors: those of Regex
std::unique_ptr<Pattern> regex_pattern(std::string_view expression);
/// Makes a pattern that matches a fixed text.
std::unique_ptr<Pattern> literal_pattern(std::string_view literal);
/// Makes a pattern that matches each single character for which `fits` returns true.
std::unique_ptr<Pattern> character_pattern(bool (*fits)(char32_t));

/// Makes the pattern of a node {"Regex": ...} or {"String": ...}. Errors: E541 (malformed), E542
/// (not supported)
std::unique_ptr<Pattern> make_pattern(const JsonNode& node);

/// Replaces every match in `text` by `replacement`. `sections` is scratch space.
void replace_matches(std::string& text, const Pattern& pattern, std::string_view replacement,
                     std::vector<Section>& sections);

/// The ways to treat matches when a text is split into pieces:
/// - removed: a match is dropped
/// - isolated: a match becomes a piece
/// - merged_with_previous, merged_with_next: a match joins the section before or after it, unless
///   that section is also a match
/// - contiguous: adjacent matches become one piece
/// Source: tokenizers, SplitDelimiterBehavior
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Returns the SplitBehavior that a node names. Errors: E541 (malformed), E542 (not supported)
SplitBehavior make_behavior(const JsonNode& node);

/// Joins and drops sections according to `behavior`. The sections that remain, without empty ones,
/// are the pieces of the text.
void apply_behavior(SplitBehavior behavior, std::vector<Section>& sections);

}  // namespace mgpu::text
