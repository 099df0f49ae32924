#include "pre_tokenizer.hpp"

#include "byte_alphabet.hpp"
#include "code_points.hpp"
#include "metaspace.hpp"
#include "pattern.hpp"

namespace mgpu::text {
namespace {

/// The regular expression whose matches are the pieces into which GPT-2 splits a text.
/// Source: GPT-2, encoder.py
constexpr std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void split(Pieces& pieces, const Pattern& pattern, SplitBehavior behavior, bool invert = false) {
  pieces.next_pieces.clear();
  for (const Pieces::Piece& piece : pieces.pieces) {
    pieces.sections.clear();
    pattern.cut(pieces.view(piece), pieces.sections);
    if (invert) {
      for (Section& section : pieces.sections)
        section.is_match = !section.is_match;
    }
    apply_behavior(behavior, pieces.sections);
    for (const Section& section : pieces.sections)
      pieces.next_pieces.push_back({piece.begin + section.begin, piece.begin + section.end});
  }
  pieces.pieces.swap(pieces.next_pieces);
}

/// Replaces each piece with the text that rewrite(piece, index) appends to pieces.next_text.
/// `index` counts the pieces from 0.
template <class Rewrite>
void rewrite_pieces(Pieces& pieces, const Rewrite& rewrite) {
  pieces.next_text.clear();
  std::size_t index = 0;
  for (Pieces::Piece& piece : pieces.pieces) {
    const std::size_t begin = pieces.next_text.size();
    rewrite(pieces.view(piece), index++);
    piece = {begin, pieces.next_text.size()};
  }
  pieces.text.swap(pieces.next_text);
}

class PreTokenizerSequence final : public PreTokenizer {
public:
  explicit PreTokenizerSequence(const JsonNode& node) {
    for (const JsonNode& part : node.at("pretokenizers").items())
      parts_.push_back(make_pre_tokenizer(part));
  }

  void apply(Pieces& pieces) const override {
    for (const auto& part : parts_)
      part->apply(pieces);
  }

private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

class Split final : public PreTokenizer {
public:
  Split(std::unique_ptr<Pattern> pattern, SplitBehavior behavior, bool invert = false)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override { split(pieces, *pattern_, behavior_, invert_); }

private:
  std::unique_ptr<Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class ByteLevel final : public PreTokenizer {
public:
  explicit ByteLevel(const JsonNode& node)
      : add_prefix_space_(node.flag("add_prefix_space", true)) {
    if (node.flag("use_regex", true)) pattern_ = regex_pattern(kGpt2Expression);
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_) {
      rewrite_pieces(pieces, [&](std::string_view piece, std::size_t) {
        if (!piece.starts_with(' ')) pieces.next_text += ' ';
        pieces.next_text += piece;
      });
    }
    if (pattern_) split(pieces, *pattern_, SplitBehavior::isolated);
    rewrite_pieces(pieces, [&](std::string_view piece, std::size_t) {
      ByteAlphabet::get().spell(piece, pieces.next_text);
    });
  }

private:
  bool add_prefix_space_;
  std::unique_ptr<Pattern> pattern_;
};

class Metaspace final : public PreTokenizer {
public:
  explicit Metaspace(const JsonNode& node)
      : options_(read_metaspace(node)), pattern_(literal_pattern(options_.replacement)) {}

  void apply(Pieces& pieces) const override {
    const std::string& mark = options_.replacement;
    rewrite_pieces(pieces, [&](std::string_view piece, std::size_t index) {
      const bool needs_mark =
          options_.prepend == PrependScheme::always ||
          (options_.prepend == PrependScheme::first && pieces.at_start && index == 0);
      if (needs_mark && !piece.starts_with(' ') && !piece.starts_with(mark))
        pieces.next_text += mark;
      for (const char c : piece) {
        if (c == ' ') {
          pieces.next_text += mark;
        } else {
          pieces.next_text += c;
        }
      }
    });
    if (options_.split) split(pieces, *pattern_, SplitBehavior::merged_with_next);
  }

private:
  MetaspaceOptions options_;
  std::unique_ptr<Pattern> pattern_;
};

std::unique_ptr<PreTokenizer> make_split(const JsonNode& node) {
  return std::make_unique<Split>(make_pattern(node.at("pattern")),
                                 make_behavior(node.at("behavior")), node.flag("invert", false));
}

std::unique_ptr<PreTokenizer> make_digits(const JsonNode& node) {
  const bool individual = node.flag("individual_digits", false);
  return std::make_unique<Split>(character_pattern(is_digit),
                                 individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

std::unique_ptr<PreTokenizer> make_punctuation(const JsonNode& node) {
  const auto behavior = node.find("behavior");
  return std::make_unique<Split>(character_pattern(is_punctuation),
                                 behavior ? make_behavior(*behavior) : SplitBehavior::isolated);
}

}  // namespace

void Pieces::assign(std::string_view whole, bool begins_input) {
  text.assign(whole);
  pieces.clear();
  if (!whole.empty()) pieces.push_back({0, whole.size()});
  at_start = begins_input;
}

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonNode& node) {
  const JsonNode type = node.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence") return std::make_unique<PreTokenizerSequence>(node);
  if (name == "Split") return make_split(node);
  if (name == "ByteLevel") return std::make_unique<ByteLevel>(node);
  if (name == "Metaspace") return std::make_unique<Metaspace>(node);
  if (name == "Digits") return make_digits(node);
  if (name == "Punctuation") return make_punctuation(node);
  if (name == "WhitespaceSplit") {
    return std::make_unique<Split>(character_pattern(is_whitespace), SplitBehavior::removed);
  }
  type.unknown_choice("pre-tokenizer",
                      "Sequence, Split, ByteLevel, Metaspace, Digits, Punctuation, "
                      "WhitespaceSplit");
}

}  // namespace mgpu::text
