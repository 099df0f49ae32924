#include "pattern.hpp"

#include <algorithm>
#include <stdexcept>

#include "code_points.hpp"
#include "regex.hpp"

namespace mgpu::text {
namespace {

class RegexPattern final : public Pattern {
public:
  explicit RegexPattern(std::string_view expression) : regex_(expression) {}

  void cut(std::string_view text, std::vector<Section>& sections) const override {
    regex_.cut(text, sections);
  }

private:
  Regex regex_;
};

class LiteralPattern final : public Pattern {
public:
  explicit LiteralPattern(std::string_view literal) : literal_(literal) {}

  void cut(std::string_view text, std::vector<Section>& sections) const override {
    std::size_t covered = 0;
    while (!literal_.empty()) {
      const std::size_t begin = text.find(literal_, covered);
      if (begin == text.npos) break;
      if (begin > covered) sections.push_back({covered, begin, false});
      covered = begin + literal_.size();
      sections.push_back({begin, covered, true});
    }
    if (covered < text.size()) sections.push_back({covered, text.size(), false});
  }

private:
  std::string literal_;
};

class CharacterPattern final : public Pattern {
public:
  explicit CharacterPattern(bool (*fits)(char32_t)) : fits_(fits) {}

  void cut(std::string_view text, std::vector<Section>& sections) const override {
    std::size_t covered = 0;
    for (std::size_t i = 0, next = 0; i < text.size(); i = next) {
      next = i + character_bytes(text[i]);
      if (!fits_(character_at(text, i))) continue;
      if (i > covered) sections.push_back({covered, i, false});
      sections.push_back({i, next, true});
      covered = next;
    }
    if (covered < text.size()) sections.push_back({covered, text.size(), false});
  }

private:
  bool (*fits_)(char32_t);
};

/// Joins each match to the section before it, unless that section is also a match.
void merge_with_previous(std::vector<Section>& sections) {
  std::size_t kept = 0;
  bool after_match = false;
  for (const Section section : sections) {
    if (section.is_match && !after_match && kept > 0) {
      sections[kept - 1].end = section.end;
    } else {
      sections[kept++] = section;
    }
    after_match = section.is_match;
  }
  sections.resize(kept);
}

void merge_with_next(std::vector<Section>& sections) {
  std::size_t kept = sections.size();
  bool after_match = false;
  for (std::size_t i = sections.size(); i-- > 0;) {
    const Section section = sections[i];
    if (section.is_match && !after_match && kept < sections.size()) {
      sections[kept].begin = section.begin;
    } else {
      sections[--kept] = section;
    }
    after_match = section.is_match;
  }
  sections.erase(sections.begin(), sections.begin() + static_cast<std::ptrdiff_t>(kept));
}

void merge_equal(std::vector<Section>& sections) {
  std::size_t kept = 0;
  for (const Section section : sections) {
    if (kept > 0 && sections[kept - 1].is_match == section.is_match) {
      sections[kept - 1].end = section.end;
    } else {
      sections[kept++] = section;
    }
  }
  sections.resize(kept);
}

}  // namespace

std::unique_ptr<Pattern> regex_pattern(std::string_view expression) {
  return std::make_unique<RegexPattern>(expression);
}

std::unique_ptr<Pattern> literal_pattern(std::string_view literal) {
  return std::make_unique<LiteralPattern>(literal);
}

std::unique_ptr<Pattern> character_pattern(bool (*fits)(char32_t)) {
  return std::make_unique<CharacterPattern>(fits);
}

std::unique_ptr<Pattern> make_pattern(const JsonNode& node) {
  if (const auto literal = node.find("String")) return literal_pattern(literal->text());
  const JsonNode expression = node.at("Regex");
  try {
    return regex_pattern(expression.text());
  } catch (const std::invalid_argument& error) {
    expression.not_supported(error.what());
  }
}

void replace_matches(std::string& text, const Pattern& pattern, std::string_view replacement,
                     std::vector<Section>& sections) {
  sections.clear();
  pattern.cut(text, sections);
  if (std::none_of(sections.begin(), sections.end(), [](auto& s) { return s.is_match; })) return;
  std::string replaced;
  replaced.reserve(text.size() + text.size() / 4);
  for (const Section& section : sections) {
    replaced += section.is_match
                    ? replacement
                    : std::string_view(text).substr(section.begin, section.end - section.begin);
  }
  text = std::move(replaced);
}

SplitBehavior make_behavior(const JsonNode& node) {
  const std::string_view name = node.text();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  node.unknown_choice("behavior",
                      "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

void apply_behavior(SplitBehavior behavior, std::vector<Section>& sections) {
  switch (behavior) {
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::removed:
      std::erase_if(sections, [](const Section& section) { return section.is_match; });
      break;
    case SplitBehavior::merged_with_previous:
      merge_with_previous(sections);
      break;
    case SplitBehavior::merged_with_next:
      merge_with_next(sections);
      break;
    case SplitBehavior::contiguous:
      merge_equal(sections);
  }
  std::erase_if(sections, [](const Section& section) { return section.begin == section.end; });
}

}  // namespace mgpu::text
