#include "normalizer.hpp"

#include <vector>

#include "code_points.hpp"
#include "pattern.hpp"

namespace mgpu::text {
namespace {

class NormalizerSequence final : public Normalizer {
public:
  explicit NormalizerSequence(const JsonNode& node) {
    for (const JsonNode& part : node.at("normalizers").items())
      parts_.push_back(make_normalizer(part));
  }

  void apply(std::string& text) const override {
    for (const auto& part : parts_)
      part->apply(text);
  }

private:
  std::vector<std::unique_ptr<Normalizer>> parts_;
};

class Prepend final : public Normalizer {
public:
  explicit Prepend(const JsonNode& node) : front_(node.at("prepend").text()) {}

  void apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, front_);
  }

private:
  std::string front_;
};

class Replace final : public Normalizer {
public:
  explicit Replace(const JsonNode& node)
      : pattern_(make_pattern(node.at("pattern"))), content_(node.at("content").text()) {}

  void apply(std::string& text) const override {
    std::vector<Section> sections;
    replace_matches(text, *pattern_, content_, sections);
  }

private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

class Lowercase final : public Normalizer {
public:
  void apply(std::string& text) const override {
    std::string lower;
    lower.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); i += character_bytes(text[i]))
      append_lower(lower, character_at(text, i));
    text = std::move(lower);
  }
};

class Strip final : public Normalizer {
public:
  explicit Strip(const JsonNode& node)
      : left_(node.at("strip_left").flag()), right_(node.at("strip_right").flag()) {}

  void apply(std::string& text) const override {
    std::size_t end = text.size();
    while (right_ && end > 0) {
      const std::size_t last = previous_character(text, end);
      if (!is_whitespace(character_at(text, last))) break;
      end = last;
    }
    text.resize(end);
    std::size_t begin = 0;
    while (left_ && begin < text.size() && is_whitespace(character_at(text, begin)))
      begin += character_bytes(text[begin]);
    text.erase(0, begin);
  }

private:
  bool left_, right_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const JsonNode& node) {
  const JsonNode type = node.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence") return std::make_unique<NormalizerSequence>(node);
  if (name == "Prepend") return std::make_unique<Prepend>(node);
  if (name == "Replace") return std::make_unique<Replace>(node);
  if (name == "Lowercase") return std::make_unique<Lowercase>();
  if (name == "Strip") return std::make_unique<Strip>(node);
  if (auto unicode = make_unicode_normalizer(name)) return unicode;
  type.unknown_choice("normalizer",
                      "Sequence, NFC, NFD, NFKC, NFKD, Prepend, Replace, Lowercase, Strip");
}

}  // namespace mgpu::text
