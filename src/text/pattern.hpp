#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_node.hpp"
#include "sections.hpp"

namespace mgpu::text {

/// A search pattern for texts: a regular expression, a fixed text, or a kind of character.
class Pattern {
public:
  virtual ~Pattern() = default;

  /// Appends sections that cover `text`: matches and the parts between them. Shapes: text is valid
  /// UTF-8
  virtual void cut(std::string_view text, std::vector<Section>& sections) const = 0;
};

std::unique_ptr<Pattern> regex_pattern(std::string_view expression);
std::unique_ptr<Pattern> literal_pattern(std::string_view literal);
/// Makes a pattern that matches each single character for which `fits` holds.
std::unique_ptr<Pattern> character_pattern(bool (*fits)(char32_t));

/// Makes the pattern of a node {"Regex": ...} or {"String": ...}. Errors: E541 (malformed), E542
/// (not supported)
std::unique_ptr<Pattern> make_pattern(const JsonNode& node);

/// Replaces every match in `text`. `sections` is scratch space.
void replace_matches(std::string& text, const Pattern& pattern, std::string_view replacement,
                     std::vector<Section>& sections);

/// The ways to treat the matches when a text is split at them.
/// Source: tokenizers, SplitDelimiterBehavior
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Reads the name of a SplitBehavior. Errors: E542 (not supported)
SplitBehavior make_behavior(const JsonNode& node);

/// Joins and drops sections as the behavior says. The sections that remain are the pieces of the
/// text.
void apply_behavior(SplitBehavior behavior, std::vector<Section>& sections);

}  // namespace mgpu::text
